// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.time.Duration;

/** Options of {@link Protean#refreshFilters}. Immutable; each function returns new options. */
public final class RefreshOptions {
  /** A callback that is told the progress of refreshing. */
  @FunctionalInterface
  public interface Progress {
    /**
     * Called now and then, from the thread that refreshes; about ten times a second during a pause. An exception ends
     * refreshing, too, and is rethrown by {@link Protean#refreshFilters}.
     *
     * @param files of the column family
     * @param filesDecided the files whose outcome is known
     * @param bytesRead from files, to learn their keys
     * @param bytesRewritten of files
     * @return false to end refreshing, after the current file if that is being rewritten
     */
    boolean report(long files, long filesDecided, long bytesRead, long bytesRewritten);
  }

  private final boolean dryRun;
  private final long maxBytes;
  private final long bytesPerSecond;
  private final double minGain;
  private final double paybackSeconds;
  private final Progress progress;

  private RefreshOptions(final boolean dryRun, final long maxBytes, final long bytesPerSecond, final double minGain,
      final double paybackSeconds, final Progress progress) {
    this.dryRun = dryRun;
    this.maxBytes = maxBytes;
    this.bytesPerSecond = bytesPerSecond;
    this.minGain = minGain;
    this.paybackSeconds = paybackSeconds;
    this.progress = progress;
  }

  /** No dry run, no limits, a gain of 0.02, payback within a day, and no progress callback. */
  public RefreshOptions() {
    this(false, Long.MAX_VALUE, 0, 0.02, Duration.ofDays(1).toSeconds(), null);
  }

  /**
   * Sets whether to report only what would be done.
   *
   * @param value true: nothing is rewritten
   * @return new options
   */
  public RefreshOptions withDryRun(final boolean value) {
    return new RefreshOptions(value, maxBytes, bytesPerSecond, minGain, paybackSeconds, progress);
  }

  /**
   * Sets the maximum amount to rewrite.
   *
   * @param value in bytes of files
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public RefreshOptions withMaxBytes(final long value) {
    return new RefreshOptions(dryRun, notNegative("maxBytes", value), bytesPerSecond, minGain, paybackSeconds, progress);
  }

  /**
   * Sets the maximum average rate of reading and rewriting files. Pauses come before a file is rewritten.
   *
   * @param value in bytes per second; 0 for no limit
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public RefreshOptions withBytesPerSecond(final long value) {
    return new RefreshOptions(dryRun, maxBytes, notNegative("bytesPerSecond", value), minGain, paybackSeconds, progress);
  }

  /**
   * Sets what a new filter must be worth: a file is rewritten only if its false positive rate falls by at least this much,
   * and by more than chance explains.
   *
   * @param value from 0 to 1
   * @return new options
   * @throws IllegalArgumentException if it is something else
   */
  public RefreshOptions withMinGain(final double value) {
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException("minGain=" + value + " is not allowed; allowed: 0 to 1");
    }
    return new RefreshOptions(dryRun, maxBytes, bytesPerSecond, value, paybackSeconds, progress);
  }

  /**
   * Sets the time within which rewriting a file must save as many reads of a block as it takes reads and writes of blocks.
   * Ignored if the rate of queries is unknown ({@link RefreshResult#rateKnown}).
   *
   * @param value the time
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public RefreshOptions withPayback(final Duration value) {
    return new RefreshOptions(dryRun, maxBytes, bytesPerSecond, minGain, notNegative("payback", value.toSeconds()), progress);
  }

  /**
   * Sets the callback that is told the progress, and may end the refresh.
   *
   * @param value null for no callback
   * @return new options
   */
  public RefreshOptions withProgress(final Progress value) {
    return new RefreshOptions(dryRun, maxBytes, bytesPerSecond, minGain, paybackSeconds, value);
  }

  private static long notNegative(final String name, final long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + "=" + value + " is not allowed; it must not be negative");
    }
    return value;
  }

  boolean dryRun() {
    return dryRun;
  }

  long maxBytes() {
    return maxBytes;
  }

  long bytesPerSecond() {
    return bytesPerSecond;
  }

  double minGain() {
    return minGain;
  }

  double paybackSeconds() {
    return paybackSeconds;
  }

  Progress progress() {
    return progress;
  }
}
