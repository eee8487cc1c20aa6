// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

/** A Java VM ends while a DB is open, in the middle of flushes and compactions. */
class ExitTest {
  @TempDir Path folder;

  @RepeatedTest(3)
  void inTheMiddleOfCompactions() throws IOException, InterruptedException {
    for (final String policy : List.of("proteus:12", "surf:4:4")) {
      ChildProcess.run(List.of("-Xmx64m"), "protean.rocksjava.ExitMain", folder.resolve(policy.substring(0, 4)).toString(),
          policy);
    }
  }
}
