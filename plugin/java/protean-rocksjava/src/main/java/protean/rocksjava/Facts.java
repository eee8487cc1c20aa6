// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Facts, each with a name: statistics, the result of a count or of a refresh, the progress of a refresh. The names are those of
 * the members of the structs in C++, behind the names of the structs that they are in, and of the JSON: {@code
 * total.bounded_seeks.negatives}. Units are part of names. Later versions may add facts. Immutable.
 */
public class Facts {
  private final Map<String, Double> numbers = new TreeMap<>();
  private final Map<String, String> texts = new TreeMap<>();
  private final Map<String, List<Facts>> lists;

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
    lists = Map.of("levels", in.list(), "files", in.list());
  }

  /**
   * {@return a number, 1 or 0 for a truth value; NaN if it is unknown, or if there is none} Numbers below 2^53 are exact.
   *
   * @param name its name
   */
  public final double get(final String name) {
    return numbers.getOrDefault(name, Double.NaN);
  }

  /**
   * {@return a number that is a count; 0 if it is unknown, or if there is none}
   *
   * @param name its name
   */
  public final long count(final String name) {
    return numbers.getOrDefault(name, 0.0).longValue();
  }

  /**
   * {@return a truth value; false if it is unknown, or if there is none}
   *
   * @param name its name
   */
  public final boolean flag(final String name) {
    return count(name) != 0;
  }

  /**
   * {@return a text; empty if it is unknown, or if there is none}
   *
   * @param name its name
   */
  public final String text(final String name) {
    return texts.getOrDefault(name, "");
  }

  /**
   * {@return the facts of each element of a list, which cannot be changed; empty if there is none of this name}
   *
   * @param name {@code levels} and {@code files} in statistics, {@code files} in the result of a refresh
   */
  public final List<Facts> list(final String name) {
    return lists.getOrDefault(name, List.of());
  }

  /** {@return the numbers that are known, by name, in a map that cannot be changed} */
  public final Map<String, Double> numbers() {
    return Collections.unmodifiableMap(numbers);
  }

  /** The names and values, for people, without the lists. */
  @Override
  public String toString() {
    return texts.toString() + numbers;
  }
}
