// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.RocksDB;

/**
 * Several RocksDBs in a Java VM, one for each class loader, some of them with Protean: none may notice the others, to the
 * very end of the process.
 */
class TenantsTest {
  /** The JAR of another version of {@code rocksdbjni}. */
  private static final String OTHER = "protean.other.rocksdbjni";

  private static final NativeLibraries LIBRARIES = new NativeLibraries();

  @TempDir Path folder;

  private void run(final String tenants, final String property) throws Exception {
    run(List.of("protean.rocksjava.TenantsMain", folder.toString()), tenants, property);
  }

  private void run(final List<String> main, final String tenants, final String property) throws Exception {
    final List<String> arguments = new ArrayList<>(main);
    for (final String tenant : tenants.split(" ")) {
      arguments.add(tenant.replace("same", ownJar()).replace("other", System.getProperty(OTHER, "")));
    }
    // A crash leaves no files behind.
    final List<String> options = List.of(property, "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=" + folder + "/crash");
    assertEquals("all is well\n", ChildProcess.run(options, arguments.toArray(String[]::new)));
  }

  private static String ownJar() throws URISyntaxException {
    return Path.of(RocksDB.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"same same", "same+protean same", "same same+protean", "same+protean same+protean",
      "same same+protean same same+protean"})
  void sameVersion(final String tenants) throws Exception {
    run(tenants, "-Da=b");
  }

  @ParameterizedTest
  @EnabledIfSystemProperty(named = OTHER, matches = ".+")
  @ValueSource(strings = {"same other", "same+protean other", "other same+protean", "same+protean other same+protean"})
  void otherVersion(final String tenants) throws Exception {
    run(tenants, "-Da=b");
  }

  /** A class loader with Protean can be unloaded like one without. */
  @Test
  void redeployed() throws Exception {
    run(List.of("protean.rocksjava.TenantsMain", "redeploy", folder.toString()),
        "same+protean same+protean same same+protean", "-Da=b");
  }

  /** The Java VM loads a file for one class loader only. */
  @Test
  void librariesInOneFolder() throws Exception {
    final Path libraries = Files.createDirectory(folder.resolve("libraries"));
    try (InputStream index = TenantsTest.class.getResourceAsStream(LIBRARIES.resource("index"))) {
      for (final String name : new String(index.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        copy(name, libraries.resolve(name));
      }
    }
    run("same+protean same+protean", "-Dprotean.library.path=" + libraries);
  }

  private static void copy(final String name, final Path target) throws IOException {
    try (InputStream library = TenantsTest.class.getResourceAsStream(LIBRARIES.resource(name))) {
      Files.copy(library, target);
    }
  }
}
