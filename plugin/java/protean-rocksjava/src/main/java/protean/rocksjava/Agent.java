// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * Loads Protean before an application starts, without a change of its code: {@code java -javaagent:protean-rocksjava.jar}.
 *
 * <p>OPTIONS files and options strings of the application can then name {@code ProteanTable}. {@code rocksdbjni} must be on
 * the application's class path; an application whose class loaders have RocksDBs of their own calls {@link Protean#load}.
 * If Protean cannot be loaded, a line on stderr says why, and the application starts without it.
 */
public final class Agent {
  private Agent() {}

  /**
   * Called by the Java VM before the application's {@code main}.
   *
   * @param arguments the text behind {@code =} in {@code -javaagent:}; not used
   */
  public static void premain(final String arguments) {
    try {
      final String reason = Protean.unavailableReason();
      if (reason != null) {
        System.err.println("protean: " + reason);
      }
    } catch (final NoClassDefFoundError e) {
      System.err.println("protean: rocksdbjni is not on the class path: " + e.getMessage());
    }
  }
}
