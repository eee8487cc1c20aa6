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
 * <p>{@code plugin/filter_statistics.h} explains what is counted, and when; names are those of the members of {@code
 * FilterStatistics} there, and of {@link #toJson}. {@code total} has sums over the open files; {@code bounded_seeks}, {@code
 * unbounded_seeks} and {@code gets} are in it, and {@code builds}, {@code samples}, {@code miss_cache}, {@code kept_memory},
 * {@code ticker_gets} and {@code refresh} beside it. An element of the list {@code levels} has {@code level}, and what {@code
 * total} has, without that word. The list {@code files} has the open files, by level and path. What is unknown has no value: a
 * rate without queries, the level of a file that no level is known of, {@code ticker_gets} without a {@code Statistics} object,
 * {@code samples} without a queue.
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

  /** {@return everything as a JSON object, in which what is unknown is null} */
  public String toJson() {
    return json;
  }
}
