// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Facts, each with a name, such as {@code total.bounded_seeks.negatives}: statistics, the result of a count or of a refresh.
 * The names are those of the JSON, and of the members in C++ ({@code plugin/filter_statistics.h}). Immutable. Later versions
 * may add facts.
 */
public final class Facts {
  private final Map<String, Double> numbers = new TreeMap<>();
  private final Map<String, String> texts = new TreeMap<>();
  private final List<Facts> levels;
  private final List<Facts> files;

  Facts(final Decoder in) {
    for (long i = in.number(); i > 0; i--) {
      final String name = in.text();
      final long kind = in.number();
      if (kind == 1) {
        numbers.put(name, in.real());
      } else if (kind == 2) {
        texts.put(name, in.text());
      }
    }
    levels = in.list(Facts::new);
    files = in.list(Facts::new);
  }

  /**
   * A number; 1 or 0 for a truth value. Numbers below 2^53 are exact.
   *
   * @param name its name
   * @return the number; NaN if it is unknown, or if there is none of this name
   */
  public double get(final String name) {
    return numbers.getOrDefault(name, Double.NaN);
  }

  /**
   * A number that is a count.
   *
   * @param name its name
   * @return the number; 0 if it is unknown, or if there is none of this name
   */
  public long count(final String name) {
    return numbers.getOrDefault(name, 0.0).longValue();
  }

  /**
   * A text.
   *
   * @param name its name
   * @return the text; empty if it is unknown, or if there is none of this name
   */
  public String text(final String name) {
    return texts.getOrDefault(name, "");
  }

  /**
   * The numbers that are known.
   *
   * @return a map by name that cannot be changed
   */
  public Map<String, Double> numbers() {
    return Collections.unmodifiableMap(numbers);
  }

  /**
   * The facts of levels, in statistics.
   *
   * @return a list that cannot be changed
   */
  public List<Facts> levels() {
    return levels;
  }

  /**
   * The facts of files, in statistics and results of a refresh.
   *
   * @return a list that cannot be changed
   */
  public List<Facts> files() {
    return files;
  }

  /** A rate; negative if it is unknown. */
  double rate(final String name) {
    return numbers.getOrDefault(name, -1.0);
  }

  boolean flag(final String name) {
    return count(name) != 0;
  }

  /** The counts that are not 0 among those whose names begin with that of a group, by the rest of their names. */
  Map<String, Long> group(final String group) {
    final Map<String, Long> counts = new TreeMap<>();
    numbers.forEach((name, number) -> {
      if (name.startsWith(group) && number != 0) {
        counts.put(name.substring(group.length()), number.longValue());
      }
    });
    return Collections.unmodifiableMap(counts);
  }

  @Override
  public String toString() {
    return texts.toString() + numbers;
  }
}
