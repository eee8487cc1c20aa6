// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.rocksdb.RocksDBException;

/**
 * What {@link Protean#refreshFilters} may do, and when it is worth it. Immutable; each function returns new options, and throws
 * {@code IllegalArgumentException} for a value that is not allowed; the message says what is allowed. All throw {@code
 * UnsatisfiedLinkError} as {@link Protean#load}.
 */
public final class RefreshOptions {
  /** A callback that is told the progress of refreshing. */
  @FunctionalInterface
  public interface Progress {
    /**
     * Called now and then, from the thread that refreshes; about ten times a second during a pause. An exception ends
     * refreshing, too, and is rethrown by {@link Protean#refreshFilters}.
     *
     * @param progress how far refreshing is: {@code files} of the column family, {@code files_decided} whose outcome is known,
     *     {@code bytes} and {@code bytes_decided} of these files, {@code bytes_read} from files to learn their keys, and {@code
     *     bytes_rewritten} of files, as they were
     * @return false to end refreshing, after the files that are being rewritten
     */
    boolean report(Facts progress);
  }

  private final String text;
  private final Progress progress;

  /** No dry run, no limits, a gain of 0.02, payback within a day, one file at a time, and no progress callback. */
  public RefreshOptions() {
    this("", null);
  }

  private RefreshOptions(final String text, final Progress progress) {
    this.text = text;
    this.progress = progress;
  }

  /**
   * Sets the option of a name from text. The name is that of the member in C++ ({@code plugin/refresh_filters.h}), and the same
   * in all languages.
   *
   * @param name such as {@code max_bytes}
   * @param value true or false; numbers and sizes as in RocksDB's options, such as 64K; levels as 0,1,6; keys as text, or as
   *     hexadecimal digits such as 0x6b6579, or nothing for none
   * @return new options
   */
  public RefreshOptions with(final String name, final String value) {
    Protean.load();
    try {
      return new RefreshOptions(
          Native.text(Native.setRefreshOption(Native.bytes(text), Native.bytes(name), Native.bytes(value))), progress);
    } catch (final RocksDBException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /**
   * Sets whether to report only what would be done.
   *
   * @param value true: nothing is rewritten
   * @return new options
   */
  public RefreshOptions withDryRun(final boolean value) {
    return with("dry_run", Boolean.toString(value));
  }

  /**
   * Sets whether to rewrite all files whose filters are not those of the policy, from level 0 down: for a change of the policy,
   * not of the queries. The other files are rewritten if that pays, as always.
   *
   * @param value true: all files
   * @return new options
   */
  public RefreshOptions withAllFiles(final boolean value) {
    return with("all_files", Boolean.toString(value));
  }

  /**
   * Sets the levels whose files may be rewritten.
   *
   * @param value their numbers; none for all levels
   * @return new options
   */
  public RefreshOptions withLevels(final int... value) {
    return with("levels", Arrays.stream(value).mapToObj(Integer::toString).collect(Collectors.joining(",")));
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
    return with("start", hex(start)).with("limit", hex(limit));
  }

  /**
   * Sets how many files are rewritten at the same time, each in a thread of its own if there is more than one.
   *
   * @param value 1 to 1024
   * @return new options
   */
  public RefreshOptions withMaxParallelRewrites(final int value) {
    return with("max_parallel_rewrites", Integer.toString(value));
  }

  /**
   * Sets the maximum bytes of files to rewrite.
   *
   * @param value in bytes
   * @return new options
   */
  public RefreshOptions withMaxBytes(final long value) {
    return with("max_bytes", Long.toString(value));
  }

  /**
   * Sets the maximum bytes per second to read (to learn keys) and to rewrite, on average: there is a pause before a file is
   * rewritten, but the rewrite itself goes at full speed, or at that of the DB's rate limiter.
   *
   * @param value in bytes per second; 0 for no limit
   * @return new options
   */
  public RefreshOptions withBytesPerSecond(final long value) {
    return with("bytes_per_second", Long.toString(value));
  }

  /**
   * Sets what a new filter must be worth: a file is rewritten only if its false positive rate falls by at least this much,
   * and by more than chance explains.
   *
   * @param value from 0 to 1
   * @return new options
   */
  public RefreshOptions withMinGain(final double value) {
    return with("min_gain", RangeFilter.text(value));
  }

  /**
   * Sets the time within which a new filter must save as many reads of a block as rewriting the file takes reads and writes of
   * blocks. This condition is dropped if the rate of queries is unknown ({@code rate_known} of {@link RefreshResult}).
   *
   * @param value up to a century
   * @return new options
   */
  public RefreshOptions withPayback(final Duration value) {
    return with("payback_seconds", RangeFilter.text(value.toMillis() / 1000.0));
  }

  /**
   * Sets the callback that is told the progress, and may end the refresh.
   *
   * @param value null for no callback
   * @return new options
   */
  public RefreshOptions withProgress(final Progress value) {
    return new RefreshOptions(text, value);
  }

  Progress progress() {
    return progress;
  }

  /** Called by the native function that refreshes. */
  boolean report(final byte[] encoded) {
    return progress.report(new Facts(new Decoder(encoded)));
  }

  private static String hex(final byte[] key) {
    return key == null ? "" : "0x" + HexFormat.of().formatHex(key);
  }

  /** All options but the progress callback, {@code dry_run=false;...}; empty if all have their defaults. */
  @Override
  public String toString() {
    return text;
  }
}
