// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/**
 * What the filters of a column family do ({@link Protean#filterStatistics}), by name:
 *
 * <pre>
 * long avoided = statistics.count("total.blocks_avoided");
 * double fpr = statistics.get("total.bounded_seeks.fpr");
 * </pre>
 *
 * <p>{@code plugin/filter_statistics.h} explains what is counted, and when. What is unknown has no value: a rate without
 * queries, the level of a file that no level is known of, {@code ticker_gets} without a {@code Statistics} object, {@code
 * samples} without a queue.
 *
 * <ul>
 *   <li>{@code db}, {@code column_family}, both texts, and {@code live_files}: in the tree, open or not.
 *   <li>{@code total}: sums over the open files. {@code open_files}, {@code used_files} (whose filters are used), {@code
 *       unused_files.REASON} and {@code files_by_basis.BASIS}, {@code entries}, {@code keys}, {@code filter_bytes}, {@code
 *       bits_per_key}, {@code predicted_fpr}, {@code model_micros}, {@code blocks_avoided}. The next ones include files that
 *       are closed now: {@code filter_blocks_loaded}, {@code filter_bytes_loaded}, {@code filter_loads_failed}, {@code
 *       bounded_seeks}, {@code unbounded_seeks} and {@code gets}, {@code reads_from_cache}, {@code reads_from_storage}, {@code
 *       requests_saved}.
 *   <li>{@code bounded_seeks} and {@code unbounded_seeks}, with a bound in their direction or without: {@code asked}, {@code
 *       negatives} and {@code passed} (the file was not read), {@code true_positives} and {@code false_positives} (it was read
 *       rightly, and in vain), {@code reached}, {@code fpr}.
 *   <li>{@code gets}, by {@code Get} and {@code multiGet}: {@code unasked}, {@code asked}, {@code negatives}, {@code
 *       true_positives}, {@code false_positives}, {@code fpr}. {@code ticker_gets} has three of them, of the {@code Statistics}
 *       object of the DB.
 *   <li>{@code builds}, of filters for new files: {@code filters}, {@code keys}, {@code filter_bytes}, {@code model_micros},
 *       {@code build_micros}.
 *   <li>{@code samples}, the queries that filters are designed for: {@code held}, {@code capacity}, {@code sample_every},
 *       {@code recorded}, {@code sampled}, {@code dropped}, {@code age_seconds}.
 *   <li>{@code kept_memory}, of all DBs that share its limit: {@code bytes}, {@code max_bytes}.
 *   <li>{@code refresh}, since the DB was opened: {@code runs}, {@code failures}, {@code last_end_unix_time}, {@code
 *       files_rewritten}, {@code bytes_read}, {@code bytes_rewritten}; and of one that is {@code running}: {@code bytes},
 *       {@code bytes_decided}, {@code running_seconds}, {@code seconds_left}.
 *   <li>the list {@code levels}, in order: {@code level}, and what {@code total} has, without that word.
 *   <li>the list {@code files}, of open files by level and path: {@code path}, {@code level}, {@code unused} (why its filter is
 *       not used; empty if it is), {@code entries}, {@code keys}, {@code filter_bytes}, {@code filter.kind} such as "Proteus",
 *       {@code filter.design}, {@code filter.basis}, {@code filter.bits_per_key}, {@code filter.predicted_fpr}, and its loads
 *       and seeks.
 * </ul>
 */
public final class FilterStatistics extends Facts {
  private final String text;
  private final String json;

  FilterStatistics(final Decoder in) {
    super(in);
    text = in.text();
    json = in.text();
  }

  /** Several lines for people: a table of the levels, and the other numbers that are known and not 0. */
  @Override
  public String toString() {
    return text;
  }

  /**
   * Everything as a JSON object. What is unknown is null.
   *
   * @return the text
   */
  public String toJson() {
    return json;
  }
}
