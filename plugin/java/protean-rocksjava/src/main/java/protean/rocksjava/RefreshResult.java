// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.List;
import java.util.Locale;

/** What {@link Protean#refreshFilters} has done or, in a dry run, would have done. Immutable. */
public final class RefreshResult {
  /**
   * An SST file as it was when refreshing began.
   *
   * @param name such as 000123.sst
   * @param level in the tree
   * @param bytes its size
   * @param entries in it, including versions and deletions
   * @param outcome its outcome, such as "rewritten", "would be rewritten" or "too little gain"
   * @param error why it could not be read or was not rewritten; empty otherwise
   * @param queries sample queries that lie within its keys; once its keys have been read, those that match no key
   * @param oldDesign the design of its filter; empty if unknown
   * @param newDesign the design of a new filter; empty if unknown
   * @param oldFpr the false positive rate of its filter for these queries; negative if unknown
   * @param newFpr the false positive rate of the new filter; negative if unknown
   * @param askedPerSecond how many queries per second its filter should deny; negative if unknown
   * @param savedReadsPerSecond the reads of a block that a new filter saves; negative if unknown
   */
  public record File(String name, int level, long bytes, long entries, String outcome, String error, long queries,
      String oldDesign, String newDesign, double oldFpr, double newFpr, double askedPerSecond, double savedReadsPerSecond) {
    static File of(final Facts in) {
      return new File(in.text("name"), (int) in.rate("level"), in.count("bytes"), in.count("entries"), in.text("outcome"),
          in.text("status"), in.count("queries"), in.text("old_design"), in.text("new_design"), in.rate("old_fpr"),
          in.rate("new_fpr"), in.rate("asked_per_second"), in.rate("saved_reads_per_second"));
    }
  }

  /** A result, and why refreshing ended early, or null. */
  record Ended(RefreshResult result, RefreshException error) {
    Ended(final Decoder in) {
      this((int) in.number(), (int) in.number(), in.text(), new RefreshResult(new Facts(in)));
    }

    private Ended(final int code, final int subCode, final String state, final RefreshResult result) {
      this(result, code == 0 ? null
          : new RefreshException(Native.exception(code, subCode, Native.bytes(state)).getStatus(), result));
    }
  }

  private final Facts facts;
  private final List<File> files;

  private RefreshResult(final Facts facts) {
    this.facts = facts;
    files = facts.files().stream().map(File::of).toList();
  }

  /**
   * All numbers, by the names that they have in JSON and in all languages.
   *
   * @return the facts
   */
  public Facts facts() {
    return facts;
  }

  /**
   * All files of the column family, by level.
   *
   * @return a list that cannot be changed
   */
  public List<File> files() {
    return files;
  }

  /**
   * The sample queries. If there are none, files are assumed to be asked in proportion to their sizes.
   *
   * @return their number
   */
  public long samples() {
    return facts.count("samples");
  }

  /**
   * Whether the rates per second are known: at least one of the samples is from a query since the DB was opened.
   *
   * @return whether they are
   */
  public boolean rateKnown() {
    return facts.flag("rate_known");
  }

  /**
   * The bytes of files that were read to learn their keys.
   *
   * @return their number
   */
  public long bytesRead() {
    return facts.count("bytes_read");
  }

  /**
   * The files that were rewritten or, in a dry run, would be.
   *
   * @return their number
   */
  public long filesRewritten() {
    return facts.count("files_rewritten");
  }

  /**
   * The bytes of these files.
   *
   * @return their number
   */
  public long bytesRewritten() {
    return facts.count("bytes_rewritten");
  }

  /**
   * The reads of a block that new filters of these files save, as far as is known.
   *
   * @return their number per second
   */
  public double savedReadsPerSecond() {
    return facts.rate("saved_reads_per_second");
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%d of %d files, %d bytes, which saves %.1f reads per second; %d samples, %d bytes read",
        filesRewritten(), files.size(), bytesRewritten(), savedReadsPerSecond(), samples(), bytesRead());
  }
}
