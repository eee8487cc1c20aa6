// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Filter policies, and what is said of bad ones. */
class RangeFilterTest {
  @ParameterizedTest
  @ValueSource(strings = {"proteus:2", "proteus:64:auto", "{id=protean.Proteus;bits_per_key=12;level_bits=kAuto}",
      "{id=protean.Proteus;bits_per_key=10.5;level_bits=kEqual;prefix_filter_type=kRibbon;sample_capacity=1000;sample_every=7;"
          + "samples_file=/tmp/a b;seed_file=seeds}",
      "{id=protean.Proteus;bits_per_key=14;point_lookups_use_whole_keys=true;false_positive_cost_micros=2}",
      "surf:0:0", "surf:32:32", "surf:16:32:16", "{id=protean.SuRF;hash_suffix_bits=2;real_suffix_bits=4;prefix_suffix_bits=8}",
      "nullptr", "bloomfilter:10", "ribbonfilter:10",
      "{id=protean.Levels;policies={nullptr,ribbonfilter:10,surf:0:4,{id=protean.Proteus;bits_per_key=12}}}"})
  void goodPolicies(final String policy) {
    assertEquals(policy, new ProteanTableConfig().setRangeFilter(policy).rangeFilter());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "proteus:1 | numbers from 2 to 64",
      "{id=protean.Proteus;bits_per_key=-3} | numbers from 2 to 64",
      "{id=protean.Proteus;bits_per_key=NaN} | numbers from 2 to 64",
      "proteus:twelve | numbers from 2 to 64",
      "proteus:12:cuckoo | kAuto, kBloom, kRibbon",
      "proteus:12;block_size=1 | numbers from 2 to 64",
      "{id=protean.Proteus;level_bits=some} | kAuto, kEqual",
      "{id=protean.Proteus;sample_every=0} | from 1 to",
      "{id=protean.Proteus;sample_every=4294967296} | from 1 to",
      "{id=protean.Proteus;sample_capacity=0} | from 1 to",
      "proteus:12M | filter_budget_bytes=2G",
      "{id=protean.Proteus;bits=12} | there is no option bits",
      "surf:4 | surf[:HASH_BITS:REAL_BITS",
      "surf:33:0 | from 0 to 32",
      "surf:0:0:17 | from 0 to 16",
      "surf:32:32:1 | 64",
      "levels: | a policy is missing",
      "levels:proteus:12,levels:proteus:12 | a list cannot be part of a list",
      "{id=protean.Levels} | no policy is named",
      "cuckoo:12 | proteus[:BITS_PER_KEY",
      "'' | nullptr"})
  void badPolicies(final String policy, final String allowed) {
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("surf:0:4");
    final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(policy));
    assertTrue(e.getMessage().contains(allowed), e.getMessage());
    assertTrue(e.getMessage().contains("allowed"), e.getMessage());
    assertEquals("surf:0:4", table.rangeFilter());
    assertThrows(IllegalArgumentException.class, () -> ProteanTableConfig.checkRangeFilter(policy));
  }

  @Test
  void nothingChangesWithoutAPolicy() {
    final ProteanTableConfig table = new ProteanTableConfig();
    assertThrows(NullPointerException.class, () -> table.setRangeFilter(null));
    assertEquals(ProteanTableConfig.DEFAULT_RANGE_FILTER, table.rangeFilter());
  }
}
