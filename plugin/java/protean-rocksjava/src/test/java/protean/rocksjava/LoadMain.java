// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.RocksDB;

/** Loads Protean in the way that its argument names, and says what has come of it. Run by {@link LoadTest}. */
public final class LoadMain {
  private LoadMain() {}

  /** Classes of Protean that are not those of the application's loader. */
  private static final class OwnLoader extends ClassLoader {
    OwnLoader() {
      super(LoadMain.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(final String name, final boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("protean.")) {
        return super.loadClass(name, resolve);
      }
      final Class<?> known = findLoadedClass(name);
      if (known != null) {
        return known;
      }
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        final byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (final IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  /** A copy of all classes, without the library of RocksDB. */
  private static final class WithoutRocksDB extends URLClassLoader {
    WithoutRocksDB() throws MalformedURLException {
      super(urls(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] urls() throws MalformedURLException {
      final List<URL> urls = new ArrayList<>();
      for (final String entry : System.getProperty("java.class.path").split(":")) {
        urls.add(Path.of(entry).toUri().toURL());
      }
      return urls.toArray(URL[]::new);
    }

    @Override
    public URL getResource(final String name) {
      return name.startsWith("librocksdbjni") ? null : super.getResource(name);
    }
  }

  private static void loadWithoutRocksDB() throws ReflectiveOperationException, IOException {
    try (WithoutRocksDB loader = new WithoutRocksDB()) {
      final Class<?> other = loader.loadClass("protean.rocksjava.Protean");
      for (int i = 0; i < 3; i++) {
        System.out.println("available: " + other.getMethod("isAvailable").invoke(null) + ", "
            + other.getMethod("unavailableReason").invoke(null));
      }
    }
  }

  private static void loadByManyThreads() throws InterruptedException {
    final List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      threads.add(new Thread(Protean::load));
    }
    threads.forEach(Thread::start);
    for (final Thread thread : threads) {
      thread.join();
    }
  }

  public static void main(final String[] arguments)
      throws ReflectiveOperationException, InterruptedException, IOException {
    switch (arguments[0]) {
      case "threads" -> loadByManyThreads();
      case "no resources" -> {
        try {
          Protean.load(new NativeLibraries("Linux", System.getProperty("os.arch"), false, null,
              System.getProperty("java.library.path"), "/no/"));
        } catch (final UnsatisfiedLinkError e) {
          System.out.println("reason: " + e.getMessage());
          return;
        }
      }
      case "no RocksDB" -> {
        loadWithoutRocksDB();
        return;
      }
      case "by hand" -> {
        RocksDB.loadLibrary();
        System.load(Path.of(arguments[1], "libprotean.so.1").toString());
      }
      case "two loaders" -> {
        Protean.load();
        final Class<?> other = new OwnLoader().loadClass("protean.rocksjava.Protean");
        if (other == Protean.class) {
          throw new AssertionError("it is the same class");
        }
        System.out.println("other version: " + other.getMethod("version").invoke(null));
      }
      default -> { }
    }
    final String reason = Protean.unavailableReason();
    if (Protean.isAvailable() != (reason == null)) {
      throw new AssertionError("it is not sure whether it is available");
    }
    System.out.println(reason == null ? "version: " + Protean.version() : "reason: " + reason);
  }
}
