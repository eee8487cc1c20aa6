// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rocksdb.RocksDB;

/** Loading the native libraries, and what is said where that cannot be. */
class LoadTest {
  private static final NativeLibraries LIBRARIES = new NativeLibraries();

  @TempDir Path folder;
  private static String version;
  private static List<String> names;

  @BeforeAll
  static void versions() throws IOException {
    Protean.load();
    final RocksDB.Version number = RocksDB.rocksdbVersion();
    version = number.getMajor() + "." + number.getMinor() + "." + number.getPatch();
    try (InputStream index = LoadTest.class.getResourceAsStream(LIBRARIES.resource("index"))) {
      names = new String(index.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8).lines().toList();
    }
  }

  private void copy(final String name, final String target) throws IOException {
    try (InputStream library = LoadTest.class.getResourceAsStream(LIBRARIES.resource(name))) {
      Files.copy(library, folder.resolve(target));
    }
  }

  /** Copies those of the libraries whose names begin so, and those that all need. */
  private void copyAll(final String... beginnings) throws IOException {
    for (final String name : names) {
      if (Stream.of(beginnings).anyMatch(name::startsWith)) {
        copy(name, name);
      }
    }
  }

  private String load(final String how, final String property) throws IOException, InterruptedException {
    return ChildProcess.run(List.of(property), "protean.rocksjava.LoadMain", how, folder.toString());
  }

  private static void assertLoaded(final String said) {
    assertTrue(said.matches("(?s)(.*\n)?version: protean [0-9.]+(-dev)? for RocksDB " + version.replace(".", "\\.") + ",.*"), said);
    assertFalse(said.contains("not registered"), said);
  }

  @Test
  void fromTheJar() throws IOException, InterruptedException {
    assertLoaded(load("threads", "-Djava.io.tmpdir=" + folder));
    // RocksDB's binding takes its own file away when the Java VM ends.
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void fromTheNamedFolder() throws IOException, InterruptedException {
    copyAll("libprotean");
    assertLoaded(load("", "-Dprotean.library.path=" + folder));
  }

  @Test
  void fromTheLibraryPath() throws IOException, InterruptedException {
    copyAll("libprotean");
    assertLoaded(load("no resources", "-Djava.library.path=/nowhere::/tmp:" + folder));
  }

  @Test
  void afterItWasLoadedByHand() throws IOException, InterruptedException {
    copyAll("libprotean");
    assertLoaded(load("by hand", "-Da=b"));
  }

  @Test
  void byTwoClassLoaders() throws IOException, InterruptedException {
    final String said = load("two loaders", "-Da=b");
    assertLoaded(said);
    assertTrue(said.contains("other version: protean "), said);
  }

  @Test
  void withoutRocksDB() throws IOException, InterruptedException {
    final String said = load("no RocksDB", "-Da=b");
    assertEquals(3, said.lines().filter(line -> line.startsWith("available: false, RocksDB could not be loaded: ")).count(),
        said);
  }

  @Test
  void refusedByTheLoader() throws IOException, InterruptedException {
    // There is one for this version, but compiled in another way.
    copy("libprotean-jni.so.1", "libprotean-jni.so.1");
    copy(names.stream().filter(name -> name.startsWith("libprotean-rocksdb-" + version)).findFirst().orElseThrow(),
        "libprotean-rocksdb-" + version + "-assert.so.1");
    copy(names.stream().filter(name -> name.startsWith("libprotean-jni-" + version)).findFirst().orElseThrow(),
        "libprotean-jni-" + version + "-assert.so.1");
    final String said = load("", "-Dprotean.library.path=" + folder);
    assertTrue(said.contains("reason: the RocksDB in "), said);
    assertTrue(said.contains(", for which there is no " + folder + "/libprotean-rocksdb-" + version), said);
  }

  @Test
  void withoutItsFunctionsForJava() throws IOException, InterruptedException {
    copyAll("libprotean-jni.so.1", "libprotean-rocksdb-");
    final String said = load("", "-Dprotean.library.path=" + folder);
    assertTrue(said.contains("has no libprotean-jni-" + version), said);
  }

  @Test
  void damaged() throws IOException, InterruptedException {
    copyAll("libprotean-");
    Files.writeString(folder.resolve("libprotean-jni.so.1"), "nothing");
    final String said = load("", "-Dprotean.library.path=" + folder);
    assertTrue(said.contains("reason: libprotean-jni.so.1 of the folder " + folder), said);
    assertTrue(said.contains("could not be loaded: "), said);
  }

  @Test
  void cutOff() throws IOException, InterruptedException {
    copyAll("libprotean-");
    for (final String beginning : List.of("libprotean-jni-", "libprotean-rocksdb-")) {
      final Path file = folder.resolve(
          names.stream().filter(name -> name.startsWith(beginning + version)).findFirst().orElseThrow());
      final byte[] whole = Files.readAllBytes(file);
      for (final int size : new int[] {0, 100, whole.length / 2, whole.length - 1000}) {
        Files.write(file, Arrays.copyOf(whole, size));
        final String said = load("", "-Dprotean.library.path=" + folder);
        assertTrue(said.contains("version: ") || said.contains("reason: ") && said.contains(file.toString()), said);
      }
      Files.write(file, whole);
    }
  }

  @Test
  void noneAnywhere() throws IOException, InterruptedException {
    String said = load("no resources", "-Djava.library.path=" + folder);
    assertTrue(said.contains("reason: the JAR of protean-rocksjava has no native libraries"), said);
    assertTrue(said.contains("Build them with plugin/java/build_native.sh "), said);
    assertTrue(said.contains(" " + version + " and name their folder"), said);
    said = load("", "-Dprotean.library.path=" + folder);
    assertTrue(said.contains("reason: the folder " + folder + " (system property protean.library.path) has no"), said);
    said = load("", "-Dprotean.library.path=" + folder + "/nowhere");
    assertTrue(said.contains("reason: the folder " + folder + "/nowhere (system property protean.library.path) does not"
        + " exist"), said);
  }

  @Test
  void otherVersions() {
    final UnsatisfiedLinkError e = assertThrows(UnsatisfiedLinkError.class, () -> LIBRARIES.load("9.7.3", 0));
    assertTrue(e.getMessage().startsWith("there are no native libraries of Protean for RocksDB 9.7.3; the JAR of"
        + " protean-rocksjava has those for "), e.getMessage());
    assertTrue(e.getMessage().contains(version), e.getMessage());
    assertTrue(e.getMessage().contains("Take rocksdbjni of one of these versions"), e.getMessage());
    // The script would refuse that version.
    assertFalse(e.getMessage().contains("build_native.sh"), e.getMessage());
  }

  @Test
  void buildableVersions() throws IOException {
    final String script = Files.readString(Path.of("..", "build_native.sh"));
    assertTrue(script.contains("\nreadonly known=\"" + String.join(" ", NativeLibraries.BUILDABLE) + "\"\n"), script);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "Windows 11 | amd64 | false | are for Linux; this is Windows 11",
      "Mac OS X | aarch64 | false | are for Linux; this is Mac OS X",
      "Linux | s390x | false | are for x86-64 and aarch64; this CPU is s390x",
      "Linux | s390x | true | are for x86-64 and aarch64; this CPU is s390x"})
  void otherMachines(final String os, final String architecture, final boolean musl, final String reason) {
    final NativeLibraries libraries = new NativeLibraries(os, architecture, musl, null, null, "/no/");
    final UnsatisfiedLinkError e = assertThrows(UnsatisfiedLinkError.class, libraries::platform);
    assertTrue(e.getMessage().contains(reason), e.getMessage());
  }

  /** The test's own resources say that there are libraries for different versions. */
  @ParameterizedTest
  @CsvSource({"amd64, false, linux-x86_64, 0.0.1", "x86_64, false, linux-x86_64, 0.0.1", "aarch64, false, linux-aarch64, 0.0.2",
      "amd64, true, linux-x86_64-musl, 0.0.3", "aarch64, true, linux-aarch64-musl, 0.0.4"})
  void chosenByTheMachine(final String architecture, final boolean musl, final String platform, final String there) {
    final NativeLibraries libraries = new NativeLibraries("Linux", architecture, musl, null, null, "/platforms/");
    assertEquals(platform, libraries.platform());
    final UnsatisfiedLinkError e = assertThrows(UnsatisfiedLinkError.class, () -> libraries.load("9.7.3", 0));
    assertTrue(e.getMessage().contains("the JAR of protean-rocksjava has those for " + there + ". "), e.getMessage());
  }

  @Test
  void noneForTheMachineAndTheVersion() {
    final NativeLibraries libraries = new NativeLibraries("Linux", "aarch64", false, null, null, "/no/");
    final UnsatisfiedLinkError e = assertThrows(UnsatisfiedLinkError.class, () -> libraries.load("9.7.3", 0));
    assertEquals("the JAR of protean-rocksjava has no native libraries of Protean for linux-aarch64."
        + " plugin/java/build_native.sh builds those for 9.10.0, 10.1.3, 10.10.1, 11.8.1. Take rocksdbjni of one of these"
        + " versions", e.getMessage());
  }

  @Test
  void noneForTheMachine() {
    final NativeLibraries libraries = new NativeLibraries("Linux", "aarch64", false, null, null, "/no/");
    final UnsatisfiedLinkError e = assertThrows(UnsatisfiedLinkError.class, () -> libraries.load("9.10.0", 0));
    assertEquals("the JAR of protean-rocksjava has no native libraries of Protean for linux-aarch64. Build them with"
        + " plugin/java/build_native.sh --platform=linux-aarch64 9.10.0 and name their folder in the system property"
        + " protean.library.path", e.getMessage());
  }
}
