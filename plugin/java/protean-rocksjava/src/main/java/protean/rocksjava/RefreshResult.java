// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * What {@link Protean#refreshFilters} has done or, in a dry run, would have done:
 *
 * <ul>
 *   <li>{@code samples}: the sample queries. If there are none, files are assumed to be asked in proportion to their sizes;
 *   <li>{@code rate_known}: whether the rates per second are known, since at least one of the samples is from a query since the
 *       DB was opened;
 *   <li>{@code bytes_read} from files, to learn their keys;
 *   <li>{@code files_rewritten}, or in a dry run those that would be; {@code bytes_rewritten} of these files, and {@code
 *       saved_reads_per_second} by them;
 *   <li>the list {@code files}, all of the column family as they were when refreshing began, by level: {@code name} such as
 *       000123.sst, {@code level}, {@code bytes}, {@code entries}, {@code outcome} such as "rewritten", "would be rewritten" or
 *       "too little gain", {@code status} (why it could not be read or was not rewritten; else empty), {@code queries} that its
 *       filter decides, {@code old_design} and {@code new_design}, {@code old_fpr} and {@code new_fpr}, {@code
 *       asked_per_second} (queries that its filter should deny) and {@code saved_reads_per_second}.
 * </ul>
 */
public final class RefreshResult extends Facts {
  /** A result, and why refreshing ended early, or null. */
  record Ended(RefreshResult result, RefreshException error) {
    Ended(final Decoder in) {
      this((int) in.number(), (int) in.number(), in.text(), new RefreshResult(in));
    }

    private Ended(final int code, final int subCode, final String state, final RefreshResult result) {
      this(result, code == 0 ? null
          : new RefreshException(Native.exception(code, subCode, Native.bytes(state)).getStatus(), result));
    }
  }

  private final String json;

  private RefreshResult(final Decoder in) {
    super(in);
    json = in.text();
  }

  /** {@return the number of files that were rewritten or, in a dry run, would be} */
  public long filesRewritten() {
    return count("files_rewritten");
  }

  /** {@return everything as a JSON object, in which what is unknown is null} */
  public String toJson() {
    return json;
  }
}
