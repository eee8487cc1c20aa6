// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Arrays;
import java.util.stream.Collectors;

/** A separate filter policy for each level: {@code Levels.of(RangeFilter.of("bloomfilter:10"), Proteus.bitsPerKey(12))}. */
public final class Levels extends RangeFilter {
  private final String policies;

  private Levels(final String policies) {
    this.policies = policies;
  }

  /**
   * A policy for each level.
   *
   * @param policies for the files of level 0, of level 1, and so on; the last one for those of all further levels. RocksDB's
   *     may be among them, and {@link RangeFilter#none()}; another {@code Levels} may not
   * @return the policy
   */
  public static Levels of(final RangeFilter... policies) {
    return new Levels(Arrays.stream(policies).map(RangeFilter::toString).collect(Collectors.joining(",")));
  }

  @Override
  public String toString() {
    return "{id=protean.Levels;policies={" + policies + "}}";
  }
}
