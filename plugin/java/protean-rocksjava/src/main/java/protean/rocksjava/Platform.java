// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Locale;
import java.util.Set;

/** The kinds of machines that native libraries are built for. */
final class Platform {
  /** The platform that is built when no other is asked for. */
  static final String DEFAULT = "linux-x86_64";

  private static final Set<String> X86_64 = Set.of("amd64", "x86_64", "x86-64");
  private static final Set<String> AARCH64 = Set.of("aarch64", "arm64");

  private Platform() {}

  /**
   * The name of a machine's platform, which is that of the folder with its libraries. Throws if there can be no library for
   * this machine.
   *
   * @param os as in the system property {@code os.name}
   * @param architecture as in the system property {@code os.arch}
   * @param musl whether the C library is musl
   */
  static String of(final String os, final String architecture, final boolean musl) {
    final String machine = architecture.toLowerCase(Locale.ROOT);
    if (!os.toLowerCase(Locale.ROOT).contains("linux")) {
      throw new UnsatisfiedLinkError("Protean's native libraries are for Linux; this is " + os);
    }
    if (!X86_64.contains(machine) && !AARCH64.contains(machine)) {
      throw new UnsatisfiedLinkError("Protean's native libraries are for x86-64 and aarch64; this CPU is " + architecture
          + ". plugin/java/build_native.sh describes how they are built");
    }
    return (X86_64.contains(machine) ? DEFAULT : "linux-aarch64") + (musl ? "-musl" : "");
  }
}
