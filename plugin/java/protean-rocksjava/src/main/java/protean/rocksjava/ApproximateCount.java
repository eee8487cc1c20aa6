// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * The number of keys in a range, as far as it is known without reading them ({@link Protean#approximateCount}). Beside {@code
 * count} and {@code is_exact}, it has
 *
 * <ul>
 *   <li>{@code in_memtables}: the part of {@code count} that the memtables hold;
 *   <li>{@code sorted_runs} that hold the other keys: a file of level 0, or a level;
 *   <li>{@code files} that were asked, and those of them whose filters cannot count: {@code files_scanned} between the bounds,
 *       because these are less than 64 KB apart, and {@code files_estimated} from their indexes, which is not exact. Only SuRF can
 *       count, and any filter if all of the file lies within the range;
 *   <li>{@code deletions}: anywhere in the files asked, within the range in the memtables, and all range deletions. Each may
 *       be counted as a key, and may hide others that are counted;
 *   <li>{@code deletions_left_out}: deleted keys in the range that {@code count} leaves out, in long stretches of deletions;
 *   <li>{@code unsure}: whether {@code count} may include entries that are not separate live keys, such as data of a
 *       transaction that has not been committed.
 * </ul>
 */
public final class ApproximateCount extends Facts {
  ApproximateCount(final Decoder in) {
    super(in);
  }

  /**
   * The keys: in each sorted run of SST files, all keys but those in long stretches of deletions; in the memtables, keys
   * whose newest entry is not a deletion. A key that is in several of these counts once in each.
   *
   * @return the number of keys
   */
  public long count() {
    return count("count");
  }

  /** {@return whether the count is certainly the number of live keys} */
  public boolean isExact() {
    return flag("is_exact");
  }
}
