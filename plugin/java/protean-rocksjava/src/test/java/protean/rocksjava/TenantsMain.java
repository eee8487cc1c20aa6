// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

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
 * <p>Arguments: a folder for DBs, and for each class loader, in their order, {@code JAR} or {@code JAR+protean}.
 */
public final class TenantsMain {
  private TenantsMain() {}

  private static ClassLoader loader(final String jar) throws MalformedURLException {
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

  public static void main(final String[] arguments) throws Exception {
    final List<AutoCloseable> tenants = new ArrayList<>();
    for (int i = 1; i < arguments.length; i++) {
      final String jar = arguments[i].replace("+protean", "");
      final Class<?> type = loader(jar).loadClass("protean.rocksjava.Tenant");
      final boolean filtered = !jar.equals(arguments[i]);
      tenants.add((AutoCloseable) type.getConstructor(String.class, boolean.class)
          .newInstance(arguments[0] + "/" + i, filtered));
    }
    // Each is used after all have been loaded, and closed while others are open.
    for (final AutoCloseable tenant : tenants) {
      tenant.getClass().getMethod("use").invoke(tenant);
    }
    for (final AutoCloseable tenant : tenants) {
      tenant.close();
    }
    System.out.println("all is well");
  }
}
