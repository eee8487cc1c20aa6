// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rocksdb.util.Environment;

/**
 * Finds and loads the native libraries that fit the RocksDB in the process.
 *
 * <p>For each build of RocksDB there are {@code libprotean-rocksdb-TAG.so.1}, Protean itself, and {@code
 * libprotean-jni-TAG.so.1}, its functions for Java. {@code libprotean-jni.so.1} looks at the RocksDB of this class loader,
 * and binds the two of them to it. Every class loader that has {@code rocksdbjni} has a RocksDB of its own, and the Java VM
 * hides their symbols from each other; that stays so.
 *
 * @param os this machine's, as are the next two; tests have other machines
 * @param path the folder to load from; null for none
 * @param resources the folder in the JAR that has one with libraries for each platform, and in it a file {@code index} that
 *     lists them
 */
record NativeLibraries(String os, String architecture, boolean musl, String path, String javaLibraryPath, String resources) {
  /** A folder with the native libraries, instead of those in the JAR. */
  static final String PATH_PROPERTY = "protean.library.path";

  /** The folder in the JAR that has one with libraries for each platform. */
  static final String RESOURCES = "/protean/native/";

  /** The versions of RocksDB whose sources plugin/java/build_native.sh knows. */
  static final List<String> BUILDABLE = List.of("9.10.0", "10.1.3", "10.10.1", "11.8.1");

  /** The platform that is built when no other is asked for. */
  private static final String DEFAULT_PLATFORM = "linux-x86_64";

  private static final Set<String> X86_64 = Set.of("amd64", "x86_64", "x86-64");
  private static final Set<String> AARCH64 = Set.of("aarch64", "arm64");
  private static final String LOADER = "libprotean-jni.so.1";
  private static final Pattern PROTEAN = Pattern.compile("libprotean-rocksdb-([0-9.]+)(-[a-z-]+)?\\.so\\.1");

  /** The libraries for this machine. */
  NativeLibraries() {
    this(System.getProperty("os.name"), System.getProperty("os.arch"), Environment.isMuslLibc(),
        System.getProperty(PATH_PROPERTY), System.getProperty("java.library.path"), RESOURCES);
  }

  /**
   * The name of this machine's platform, which is that of the folder with its libraries. Throws if there can be no library for
   * this machine.
   */
  String platform() {
    final String machine = architecture.toLowerCase(Locale.ROOT);
    if (!os.toLowerCase(Locale.ROOT).contains("linux")) {
      throw new UnsatisfiedLinkError("Protean's native libraries are for Linux; this is " + os);
    }
    if (!X86_64.contains(machine) && !AARCH64.contains(machine)) {
      throw new UnsatisfiedLinkError("Protean's native libraries are for x86-64 and aarch64; this CPU is " + architecture
          + ". plugin/java/build_native.sh describes how they are built");
    }
    return (X86_64.contains(machine) ? DEFAULT_PLATFORM : "linux-aarch64") + (musl ? "-musl" : "");
  }

  /**
   * Loads the libraries that fit the loaded RocksDB. Throws if there are none.
   *
   * @param version of the RocksDB
   * @param env the handle of one of its {@code Env}s
   */
  void load(final String version, final long env) {
    if (path != null) {
      final Path folder = Path.of(path);
      final String where = "the folder " + path + " (system property " + PATH_PROPERTY + ")";
      if (!Files.isDirectory(folder)) {
        throw new UnsatisfiedLinkError(where + " does not exist");
      }
      loadFrom(folder, namesIn(folder), version, env, where);
      return;
    }
    final List<String> packed = namesInResources();
    if (!forVersion(packed, version).isEmpty()) {
      loadExtracted(packed, version, env);
      return;
    }
    for (final String entry : javaLibraryPath == null ? new String[0] : javaLibraryPath.split(":")) {
      final Path folder = Path.of(entry);
      final List<String> names = namesIn(folder);
      if (!entry.isEmpty() && names.contains(LOADER) && !forVersion(names, version).isEmpty()) {
        loadFrom(folder, names, version, env, "the folder " + folder);
        return;
      }
    }
    throw noneFor(version, packed, "the JAR of protean-rocksjava");
  }

  private UnsatisfiedLinkError noneFor(final String version, final List<String> names, final String where) {
    final Set<String> versions = names.stream().map(NativeLibraries::versionOf).collect(Collectors.toCollection(TreeSet::new));
    versions.remove("");
    final String option = DEFAULT_PLATFORM.equals(platform()) ? "" : "--platform=" + platform() + " ";
    final String remedy = BUILDABLE.contains(version)
        ? " Build them with plugin/java/build_native.sh " + option + version + " and name their folder in the system property "
            + PATH_PROPERTY
        : versions.isEmpty()
            ? " plugin/java/build_native.sh builds those for " + String.join(", ", BUILDABLE) + ". Take rocksdbjni of one of"
                + " these versions"
            : "";
    return new UnsatisfiedLinkError(versions.isEmpty()
        ? where + " has no native libraries of Protean for " + platform() + "." + remedy
        : "there are no native libraries of Protean for RocksDB " + version + "; " + where + " has those for "
            + String.join(", ", versions) + ". Take rocksdbjni of one of these versions." + remedy);
  }

  /** The libraries of Protean itself for a version of RocksDB, however it was compiled. */
  private static List<String> forVersion(final List<String> names, final String version) {
    return names.stream().filter(name -> versionOf(name).equals(version)).toList();
  }

  /** The version of RocksDB that a library of Protean itself is for; empty for other files. */
  private static String versionOf(final String name) {
    final Matcher matcher = PROTEAN.matcher(name);
    return matcher.matches() ? matcher.group(1) : "";
  }

  private static List<String> namesIn(final Path folder) {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    } catch (final IOException e) {
      return List.of();
    }
  }

  /** Where a file of this machine's platform is in the JAR. */
  String resource(final String name) {
    return resources + platform() + "/" + name;
  }

  private List<String> namesInResources() {
    try (InputStream index = NativeLibraries.class.getResourceAsStream(resource("index"))) {
      if (index == null) {
        return List.of();
      }
      return new BufferedReader(new InputStreamReader(index, StandardCharsets.UTF_8)).lines().toList();
    } catch (final IOException | UncheckedIOException e) {
      return List.of();
    }
  }

  /** Loads libraries from the JAR, through a folder that only this user may write to. The files are not needed once loaded. */
  private void loadExtracted(final List<String> names, final String version, final long env) {
    final List<String> needed = new ArrayList<>(forVersion(names, version));
    needed.addAll(needed.stream().map(NativeLibraries::jniOf).toList());
    needed.add(LOADER);
    try {
      final Path folder = Files.createTempDirectory("protean");
      try {
        for (final String name : needed) {
          extract(name, folder.resolve(name));
        }
        loadFrom(folder, names, version, env, "the JAR of protean-rocksjava, by way of " + folder);
      } finally {
        remove(folder, needed);
      }
    } catch (final IOException e) {
      throw failure("Protean's native libraries could not be taken out of the JAR: " + e
          + ". Name a folder that can be written to with the system property java.io.tmpdir, or one that has them with "
          + PATH_PROPERTY, e);
    }
  }

  /** Removes the files. A file that is left behind does no harm. */
  private static void remove(final Path folder, final List<String> names) {
    try {
      for (final String name : names) {
        Files.deleteIfExists(folder.resolve(name));
      }
      Files.delete(folder);
    } catch (final IOException e) {
      // This happens on NFS, where mapped files stay under another name.
      folder.toFile().deleteOnExit();
    }
  }

  private void extract(final String name, final Path file) throws IOException {
    try (InputStream library = NativeLibraries.class.getResourceAsStream(resource(name))) {
      if (library == null) {
        throw new UnsatisfiedLinkError("the JAR of protean-rocksjava names " + name + " in its index, but does not have it;"
            + " build it anew");
      }
      Files.copy(library, file);
    }
  }

  private void loadFrom(final Path folder, final List<String> names, final String version, final long env,
      final String where) {
    if (forVersion(names, version).isEmpty()) {
      throw noneFor(version, names, where);
    }
    for (final String name : forVersion(names, version)) {
      require(names, jniOf(name), where);
    }
    require(names, LOADER, where);
    loadLoader(folder, where);
    final long functions = Loader.bind(env, folder.toAbsolutePath() + "/");
    link(functions, Native.class);
    link(functions, SearchBounds.class);
  }

  /** The error if the library of Protean has refused its RocksDB. */
  static UnsatisfiedLinkError refused() {
    return new UnsatisfiedLinkError("Protean does not fit the RocksDB that has been loaded, although its version does. The"
        + " reason is in the line that begins with \"protean:\" on stderr (unless PROTEAN_QUIET=1). rocksdbjni as it is on"
        + " Maven Central fits; was it replaced?");
  }

  private static void require(final List<String> names, final String name, final String where) {
    if (!names.contains(name)) {
      throw new UnsatisfiedLinkError(where + " has no " + name + "; plugin/java/build_native.sh builds it");
    }
  }

  private static String jniOf(final String protean) {
    return protean.replace("libprotean-rocksdb-", "libprotean-jni-");
  }

  private static void loadLoader(final Path folder, final String where) {
    final Path file = folder.resolve(LOADER).toAbsolutePath();
    try {
      System.load(file.toString());
    } catch (final UnsatisfiedLinkError e) {
      try {
        loadCopy(file);
      } catch (final IOException | UnsatisfiedLinkError e2) {
        e.addSuppressed(e2);
        throw failure(LOADER + " of " + where + " could not be loaded: " + e.getMessage()
            + ". If its folder does not allow execution, name another one with the system property " + PATH_PROPERTY
            + " or java.io.tmpdir", e);
      }
    }
  }

  /** Loads a copy of a file, since the Java VM loads each file for one class loader only. */
  private static void loadCopy(final Path file) throws IOException {
    final Path copy = Files.createTempFile("protean", ".so");
    try {
      Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
      System.load(copy.toString());
    } finally {
      Files.delete(copy);
    }
  }

  /** Connects the native methods of a class with their functions. */
  private static void link(final long functions, final Class<?> type) {
    for (final Method method : type.getDeclaredMethods()) {
      if (Modifier.isNative(method.getModifiers())) {
        final String symbol = "Java_" + type.getName().replace('.', '_') + "_" + method.getName();
        final String signature =
            MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
        Loader.link(functions, type, symbol, method.getName(), signature);
      }
    }
  }

  /** The functions of the loader. */
  private static final class Loader {
    /**
     * Loads Protean and its functions for Java from a folder, and binds them to the RocksDB of an {@code Env}. Throws an
     * UnsatisfiedLinkError that says why they cannot be bound.
     */
    static native long bind(long env, String folder);

    static native void link(long functions, Class<?> type, String symbol, String name, String signature);
  }

  static UnsatisfiedLinkError failure(final String message, final Throwable cause) {
    final UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
    error.initCause(cause);
    return error;
  }
}
