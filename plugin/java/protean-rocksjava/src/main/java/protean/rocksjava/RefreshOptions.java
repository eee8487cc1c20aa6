// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.math.BigDecimal;
import java.util.HexFormat;
import org.rocksdb.RocksDBException;

/**
 * What {@link Protean#refreshFilters} may do, and when it is worth it:
 *
 * <pre>new RefreshOptions().with("min_gain", 0.05).with("max_bytes", "1G")</pre>
 *
 * <p>Names, values and defaults of the options are those of the members of {@code RefreshOptions} in C++ ({@code
 * plugin/refresh_filters.h}), and the same in all languages: {@code dry_run}, {@code levels}, {@code start}, {@code limit},
 * {@code max_parallel_rewrites}, {@code all_files}, {@code max_bytes}, {@code bytes_per_second}, {@code min_gain}, {@code
 * payback_seconds}. {@code docs/options.md} explains them.
 *
 * <p>Immutable; each function returns new options. Those that set an option throw {@code IllegalArgumentException} for a value
 * that is not allowed; the message says what is allowed. They throw {@code UnsatisfiedLinkError} as {@link Protean#load}.
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
   * Sets the option of a name.
   *
   * @param name such as {@code max_bytes}
   * @param value a truth value, a number, a key as bytes, or a text: sizes as in RocksDB's options, such as 64K; levels as
   *     0,1,6; keys as they are, or as hexadecimal digits such as 0x6b6579, or nothing for none
   * @return new options
   * @throws IllegalArgumentException if the option does not exist, or cannot have the value
   */
  public RefreshOptions with(final String name, final Object value) {
    Protean.load();
    try {
      return new RefreshOptions(
          Native.text(Native.setRefreshOption(Native.bytes(text), Native.bytes(name), Native.bytes(text(value)))), progress);
    } catch (final RocksDBException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /** Numbers have no exponent in RocksDB's options. */
  private static String text(final Object value) {
    if (value instanceof byte[] key) {
      return "0x" + HexFormat.of().formatHex(key);
    }
    final String text = String.valueOf(value);
    if (value instanceof CharSequence || value instanceof Boolean) {
      return text;
    }
    if (value instanceof Number) {
      final boolean hasDigits = !text.equals("NaN") && !text.endsWith("Infinity");
      return hasDigits ? new BigDecimal(text).toPlainString() : text;
    }
    throw new IllegalArgumentException("a truth value, a number, a text, or a key as bytes is wanted, not "
        + (value == null ? "null" : value.getClass().getName()));
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

  /** All options but the progress callback, {@code dry_run=false;...}; empty if all have their defaults. */
  @Override
  public String toString() {
    return text;
  }
}
