// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * The number of keys in a range, as far as it is known without reading them ({@link Protean#approximateCount}): the members of
 * {@code CountResult} in C++, which {@code plugin/approximate_count.h} explains. {@code count} and {@code is_exact}, {@code
 * in_memtables}, {@code sorted_runs}, {@code files}, {@code files_scanned}, {@code files_estimated}, {@code deletions}, {@code
 * deletions_left_out}, {@code unsure}.
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
