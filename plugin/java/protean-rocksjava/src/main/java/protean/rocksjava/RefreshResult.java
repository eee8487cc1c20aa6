// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import org.rocksdb.Status;

/**
 * What {@link Protean#refreshFilters} has done or, in a dry run, would have done: the members of {@code RefreshResult} in C++,
 * which {@code plugin/refresh_filters.h} explains. {@code samples}, {@code rate_known}, {@code bytes_read}, {@code
 * files_rewritten}, {@code bytes_rewritten}, {@code saved_reads_per_second}; and the list {@code files}, all of the column family
 * as they were when refreshing began, by level: {@code name} such as 000123.sst, {@code level}, {@code bytes}, {@code entries},
 * {@code outcome} such as "rewritten" or "too little gain", {@code status}, {@code queries}, {@code old_design}, {@code
 * new_design}, {@code old_fpr}, {@code new_fpr}, {@code asked_per_second}, {@code saved_reads_per_second}.
 */
public final class RefreshResult extends Facts {
  /** A result, and why refreshing ended early, or null. */
  record Ended(RefreshResult result, RefreshException error) {
    static Ended of(final Decoder in) {
      final Status status = Native.status((int) in.number(), (int) in.number(), in.text());
      final RefreshResult result = new RefreshResult(in);
      return new Ended(result, status.getCode() == Status.Code.Ok ? null : new RefreshException(status, result));
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
