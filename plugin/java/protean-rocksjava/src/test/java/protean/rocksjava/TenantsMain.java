// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Several class loaders, each with a {@code rocksdbjni} of its own, as web applications have them. Run by {@link
 * TenantsTest}.
 *
 * <p>Arguments: a folder for DBs, and for each class loader, in their order, {@code JAR} or {@code JAR+protean}. With {@code
 * redeploy} before the folder, each class loader is gone before the next one begins.
 */
public final class TenantsMain {
  private TenantsMain() {}

  private static URLClassLoader loader(final String jar) throws MalformedURLException {
    final List<URL> urls = new ArrayList<>();
    urls.add(Path.of(jar).toUri().toURL());
    for (final String entry : System.getProperty("java.class.path").split(":")) {
      final Path path = Path.of(entry);
      if (!path.getFileName().toString().startsWith("rocksdbjni-")) {
        urls.add(path.toUri().toURL());
      }
    }
    return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
  }

  private static AutoCloseable tenant(final ClassLoader loader, final String folder, final boolean filtered)
      throws ReflectiveOperationException {
    final Class<?> type = loader.loadClass("protean.rocksjava.Tenant");
    return (AutoCloseable) type.getConstructor(String.class, boolean.class).newInstance(folder, filtered);
  }

  private static void use(final AutoCloseable tenant) throws ReflectiveOperationException {
    tenant.getClass().getMethod("use").invoke(tenant);
  }

  private static void besideEachOther(final String folder, final List<String> jars) throws Exception {
    final List<AutoCloseable> tenants = new ArrayList<>();
    for (final String jar : jars) {
      tenants.add(tenant(loader(jar.replace("+protean", "")), folder + "/" + tenants.size(), jar.endsWith("+protean")));
    }
    // Each is used after all have been loaded, and closed while others are open.
    for (final AutoCloseable tenant : tenants) {
      use(tenant);
    }
    for (final AutoCloseable tenant : tenants) {
      tenant.close();
    }
  }

  private static WeakReference<ClassLoader> useAndForget(final String folder, final String jar) throws Exception {
    final URLClassLoader loader = loader(jar.replace("+protean", ""));
    try (loader; AutoCloseable tenant = tenant(loader, folder, jar.endsWith("+protean"))) {
      use(tenant);
    }
    return new WeakReference<>(loader);
  }

  private static void oneAfterTheOther(final String folder, final List<String> jars) throws Exception {
    for (int i = 0; i < jars.size(); i++) {
      final WeakReference<ClassLoader> loader = useAndForget(folder + "/" + i, jars.get(i));
      for (int round = 0; round < 3000 && loader.get() != null; round++) {
        System.gc();
        Thread.sleep(20);
      }
      if (loader.get() != null) {
        throw new AssertionError("the class loader " + i + " stays");
      }
    }
  }

  public static void main(final String[] arguments) throws Exception {
    final List<String> all = List.of(arguments);
    if (all.get(0).equals("redeploy")) {
      oneAfterTheOther(all.get(1), all.subList(2, all.size()));
    } else {
      besideEachOther(all.get(0), all.subList(1, all.size()));
    }
    System.out.println("all is well");
  }
}
