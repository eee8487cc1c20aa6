// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Options of {@link Protean#refreshFilters}. Immutable; each function returns new options. */
public final class RefreshOptions {
  /** A callback that is told the progress of refreshing. */
  @FunctionalInterface
  public interface Progress {
    /**
     * Called now and then, from the thread that refreshes; about ten times a second during a pause. An exception ends
     * refreshing, too, and is rethrown by {@link Protean#refreshFilters}.
     *
     * @param progress how far refreshing is
     * @return false to end refreshing, after the files that are being rewritten
     */
    boolean report(RefreshProgress progress);
  }

  private boolean dryRun;
  private boolean allFiles;
  private int[] levels = {};
  private byte[] start;
  private byte[] limit;
  private int maxParallelRewrites = 1;
  private long maxBytes = Long.MAX_VALUE;
  private long bytesPerSecond;
  private double minGain = 0.02;
  private double paybackSeconds = Duration.ofDays(1).toSeconds();
  private Progress progress;

  /** No dry run, no limits, a gain of 0.02, payback within a day, one file at a time, and no progress callback. */
  public RefreshOptions() {}

  private RefreshOptions with(final Consumer<RefreshOptions> change) {
    final RefreshOptions changed = new RefreshOptions();
    changed.dryRun = dryRun;
    changed.allFiles = allFiles;
    changed.levels = levels;
    changed.start = start;
    changed.limit = limit;
    changed.maxParallelRewrites = maxParallelRewrites;
    changed.maxBytes = maxBytes;
    changed.bytesPerSecond = bytesPerSecond;
    changed.minGain = minGain;
    changed.paybackSeconds = paybackSeconds;
    changed.progress = progress;
    change.accept(changed);
    return changed;
  }

  /**
   * Sets whether to report only what would be done.
   *
   * @param value true: nothing is rewritten
   * @return new options
   */
  public RefreshOptions withDryRun(final boolean value) {
    return with(options -> options.dryRun = value);
  }

  /**
   * Sets whether to rewrite all files, from level 0 down, but for those that have filters of the policy and of the right
   * size: for a change of the filter policy, not of the queries. Those are rewritten if that pays, as always.
   *
   * @param value true: all files
   * @return new options
   */
  public RefreshOptions withAllFiles(final boolean value) {
    return with(options -> options.allFiles = value);
  }

  /**
   * Sets the levels whose files may be rewritten.
   *
   * @param value their numbers; none for all levels
   * @return new options
   * @throws IllegalArgumentException if a number is negative
   */
  public RefreshOptions withLevels(final int... value) {
    final int[] copy = value.clone();
    for (final int level : copy) {
      notNegative("level", level);
    }
    return with(options -> options.levels = copy);
  }

  /**
   * Sets the range of keys: only files that may have keys in it are rewritten.
   *
   * @param start the first key that belongs to the range, in the column family's order and without a timestamp; null: there is
   *     no bound on that side
   * @param limit the first key behind the range; null: there is no bound on that side
   * @return new options
   */
  public RefreshOptions withRange(final byte[] start, final byte[] limit) {
    final byte[] from = start == null ? null : start.clone();
    final byte[] to = limit == null ? null : limit.clone();
    return with(options -> {
      options.start = from;
      options.limit = to;
    });
  }

  /**
   * Sets how many files are rewritten at the same time, each in a thread of its own if there is more than one.
   *
   * @param value 1 to 1024
   * @return new options
   * @throws IllegalArgumentException if it is another number
   */
  public RefreshOptions withMaxParallelRewrites(final int value) {
    if (value < 1 || value > 1024) {
      throw new IllegalArgumentException("maxParallelRewrites=" + value + " is not allowed; allowed: 1 to 1024");
    }
    return with(options -> options.maxParallelRewrites = value);
  }

  /**
   * Sets the maximum amount to rewrite.
   *
   * @param value in bytes of files
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public RefreshOptions withMaxBytes(final long value) {
    notNegative("maxBytes", value);
    return with(options -> options.maxBytes = value);
  }

  /**
   * Sets the maximum average rate of reading and rewriting files. Pauses come before a file is rewritten.
   *
   * @param value in bytes per second; 0 for no limit
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public RefreshOptions withBytesPerSecond(final long value) {
    notNegative("bytesPerSecond", value);
    return with(options -> options.bytesPerSecond = value);
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
    return with(options -> options.minGain = value);
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
    final long seconds = notNegative("payback", value.toSeconds());
    return with(options -> options.paybackSeconds = seconds);
  }

  /**
   * Sets the callback that is told the progress, and may end the refresh.
   *
   * @param value null for no callback
   * @return new options
   */
  public RefreshOptions withProgress(final Progress value) {
    return with(options -> options.progress = value);
  }

  private static long notNegative(final String name, final long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + "=" + value + " is not allowed; it must not be negative");
    }
    return value;
  }

  Progress progress() {
    return progress;
  }

  /** Called by the native function that refreshes. */
  boolean report(final byte[] encoded) {
    return progress.report(new RefreshProgress(new Facts(new Decoder(encoded))));
  }

  private static String hex(final byte[] key) {
    return key == null ? "" : "0x" + HexFormat.of().formatHex(key);
  }

  /** All options but the progress callback, as a text that the other languages read, too: {@code dry_run=false;...}. */
  @Override
  public String toString() {
    return "dry_run=" + dryRun + ";all_files=" + allFiles + ";levels="
        + Arrays.stream(levels).mapToObj(Integer::toString).collect(Collectors.joining(",")) + ";start=" + hex(start)
        + ";limit=" + hex(limit) + ";max_parallel_rewrites=" + maxParallelRewrites + ";max_bytes=" + maxBytes
        + ";bytes_per_second=" + bytesPerSecond + ";min_gain=" + String.format(Locale.ROOT, "%.9f", minGain)
        + ";payback_seconds=" + String.format(Locale.ROOT, "%.3f", paybackSeconds);
  }
}
