// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Protean is loaded by the Java VM's option {@code -javaagent:}. */
class AgentTest {
  private static final String OPTIONS = """
      [Version]
        rocksdb_version=9.10.0
        options_file_version=1.1
      [DBOptions]
        create_if_missing=true
      [CFOptions "default"]
        table_factory=ProteanTable
      [TableOptions/ProteanTable "default"]
        filter_policy=surf:0:8
      """;

  @TempDir Path folder;

  @BeforeEach
  void write() throws IOException {
    Files.writeString(folder.resolve("OPTIONS"), OPTIONS);
    // The classes are not in a JAR yet.
    final Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(new Attributes.Name("Premain-Class"), "protean.rocksjava.Agent");
    try (OutputStream file = Files.newOutputStream(folder.resolve("agent.jar"))) {
      new JarOutputStream(file, manifest).close();
    }
  }

  private String run(final String... vmOptions) throws IOException, InterruptedException {
    return ChildProcess.run(List.of(vmOptions), "protean.rocksjava.AgentMain", folder.resolve("OPTIONS").toString(),
        folder.resolve("db").toString());
  }

  @Test
  void opensWhatTheApplicationNames() throws IOException, InterruptedException {
    assertEquals("opened\n", run("-javaagent:" + folder.resolve("agent.jar")));
    // RocksDB has written the options of the DB.
    try (Stream<Path> files = Files.list(folder.resolve("db"))) {
      for (final Path file : files.filter(path -> path.getFileName().toString().startsWith("OPTIONS")).toList()) {
        assertTrue(Files.readString(file).contains("[TableOptions/ProteanTable \"default\"]"), file.toString());
      }
    }
  }

  @Test
  void isNeeded() throws IOException, InterruptedException {
    final String said = run("-Da=b");
    assertTrue(said.startsWith("refused: "), said);
    assertFalse(said.contains("protean:"), said);
  }

  @Test
  void leavesTheApplicationAloneIfItCannotLoad() throws IOException, InterruptedException {
    final String said = run("-javaagent:" + folder.resolve("agent.jar"), "-Dprotean.library.path=" + folder + "/nowhere");
    assertEquals(List.of("protean: the folder " + folder + "/nowhere (system property protean.library.path) does not exist"),
        said.lines().filter(line -> line.startsWith("protean: ")).toList());
    assertTrue(said.contains("refused: "), said);
  }
}
