// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a Java VM of its own. */
final class ChildProcess {
  private ChildProcess() {}

  /**
   * Returns what it has written, to stderr too, once it has ended well.
   *
   * @param vmOptions for the Java VM
   * @param arguments the main class, and what it is given
   */
  static String run(final List<String> vmOptions, final String... arguments) throws IOException, InterruptedException {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(vmOptions);
    command.addAll(List.of("-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))));
    command.addAll(List.of(arguments));
    final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    // Memory that has been freed goes back to where the next piece is taken from.
    builder.environment().put("MALLOC_ARENA_MAX", "1");
    final Process process = builder.start();
    final String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(10, TimeUnit.MINUTES));
    assertEquals(0, process.exitValue(), said);
    return said;
  }
}
