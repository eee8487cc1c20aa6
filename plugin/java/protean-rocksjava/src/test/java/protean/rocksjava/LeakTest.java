// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory is given back. The system property protean.leak.opens says how often a DB is opened and closed. */
class LeakTest {
  @TempDir Path folder;

  @Test
  void openAndClose() throws IOException, InterruptedException {
    final int times = Integer.getInteger("protean.leak.opens", 1000);
    // A heap and compiled code that cannot grow leave native memory.
    final String said = ChildProcess.run(List.of("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1"), "protean.rocksjava.OpenAndClose", folder.toString(), String.valueOf(times), "protean");
    System.out.println(said);
    final Matcher growth = Pattern.compile("growth: (-?[0-9]+) KB").matcher(said);
    assertTrue(growth.find(), said);
    // With 1,000 opens, 3 KB that are forgotten each time are seen; with 10,000, 1 KB.
    assertTrue(Long.parseLong(growth.group(1)) < Math.max(2048, times * 3L / 4), said);
  }
}
