// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.Objects;

/**
 * The filters that SST files get: a filter policy, as RocksDB writes it in an options string. {@link Proteus}, {@link Surf}
 * and {@link Levels} build policies from their options; {@link #of} takes any other. Immutable.
 */
public abstract class RangeFilter {
  RangeFilter() {}

  /**
   * A filter policy from its text.
   *
   * @param policy such as {@code proteus:12}, <code>{id=protean.Proteus;bits_per_key=12;prefix_filter_type=kBloom}</code>, or one of RocksDB,
   *     {@code bloomfilter:10}
   * @return the policy, which {@link ProteanTableConfig#setRangeFilter(RangeFilter)} checks
   */
  public static RangeFilter of(final String policy) {
    return new Text(policy);
  }

  /**
   * New files get no filters; files that have a filter of Protean keep using it.
   *
   * @return that policy
   */
  public static RangeFilter none() {
    return new Text("nullptr");
  }

  /**
   * The policy as RocksDB reads it in an options string.
   *
   * @return the text
   */
  @Override
  public abstract String toString();

  /** A number in the format of options strings: without an exponent. */
  static String text(final double number) {
    return Double.isFinite(number) ? BigDecimal.valueOf(number).stripTrailingZeros().toPlainString() : String.valueOf(number);
  }

  /** The name of a file in the format of options strings. */
  static String text(final Path file) {
    final String name = file.toString();
    if (name.isEmpty() || !name.equals(name.strip()) || name.chars().anyMatch(c -> c < ' ' || "{};#\\".indexOf(c) >= 0)) {
      throw new IllegalArgumentException("the file name '" + name + "' cannot be written in RocksDB's options: it is empty, or"
          + " has one of { } ; # \\, control characters, or spaces at its ends");
    }
    return name;
  }

  private static final class Text extends RangeFilter {
    private final String policy;

    Text(final String policy) {
      this.policy = Objects.requireNonNull(policy, "policy");
    }

    @Override
    public String toString() {
      return policy;
    }
  }
}
