// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/** The number of keys in a range, as far as it is known without reading them ({@link Protean#approximateCount}). */
public final class ApproximateCount {
  private final long count;
  private final long inMemtables;
  private final long sortedRuns;
  private final long files;
  private final long filesScanned;
  private final long deletions;
  private final boolean unsure;
  private final boolean exact;

  ApproximateCount(final Facts in) {
    count = in.count("count");
    inMemtables = in.count("in_memtables");
    sortedRuns = in.count("sorted_runs");
    files = in.count("files");
    filesScanned = in.count("files_scanned");
    deletions = in.count("deletions");
    unsure = in.flag("unsure");
    exact = in.flag("is_exact");
  }

  /**
   * The keys: in each sorted run of SST files, all keys, whether their newest entry is a value or a deletion; in the
   * memtables, keys whose newest entry is not a deletion. A key that is in several of these counts once in each.
   *
   * @return the number of keys
   */
  public long count() {
    return count;
  }

  /**
   * The part of the count that the memtables hold.
   *
   * @return a number of keys
   */
  public long inMemtables() {
    return inMemtables;
  }

  /**
   * The sorted runs that hold the other keys: a file of level 0, or a level.
   *
   * @return their number
   */
  public long sortedRuns() {
    return sortedRuns;
  }

  /**
   * The SST files that were asked.
   *
   * @return their number
   */
  public long files() {
    return files;
  }

  /**
   * The files among those asked that had to be scanned between the bounds, because their filters cannot count.
   *
   * @return their number
   */
  public long filesScanned() {
    return filesScanned;
  }

  /**
   * The deletions: anywhere in the files asked, within the range in the memtables, and all range deletions. Each may be
   * counted as a key, and may hide others that are counted.
   *
   * @return their number
   */
  public long deletions() {
    return deletions;
  }

  /**
   * Whether the count may include entries that are not separate live keys, such as data of a transaction that has not been
   * committed.
   *
   * @return whether it may
   */
  public boolean isUnsure() {
    return unsure;
  }

  /**
   * Whether the count is certainly the number of live keys.
   *
   * @return whether it is
   */
  public boolean isExact() {
    return exact;
  }

  @Override
  public String toString() {
    return (isExact() ? "" : "about ") + count + " keys, " + inMemtables + " of them in memtables, the others in " + sortedRuns
        + " sorted runs; " + files + " files asked, " + filesScanned + " of them scanned; " + deletions + " deletions";
  }
}
