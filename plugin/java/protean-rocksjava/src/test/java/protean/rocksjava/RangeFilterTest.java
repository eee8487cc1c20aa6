// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Filter policies, and what is said of bad ones. */
class RangeFilterTest {
  @Test
  void texts() {
    assertEquals("{id=protean.Proteus;bits_per_key=12}", Proteus.bitsPerKey(12).toString());
    assertEquals("{id=protean.Proteus;bits_per_key=10.5;level_bits=kEqual;prefix_filter_type=kRibbon;sample_capacity=1000;"
            + "sample_every=7;samples_file=/data/a b;seed_file=seeds}",
        Proteus.bitsPerKey(10.5).prefixFilterType(Proteus.PrefixFilterType.RIBBON)
            .levelBits(Proteus.LevelBits.EQUAL).sampleCapacity(1000).sampleEvery(7)
            .samplesFile(Path.of("/data/a b")).seedFile(Path.of("seeds")).toString());
    assertEquals("{id=protean.SuRF;hash_suffix_bits=2;real_suffix_bits=4}", Surf.suffixBits(2, 4).toString());
    assertEquals("{id=protean.SuRF;hash_suffix_bits=0;real_suffix_bits=2;prefix_suffix_bits=8}",
        Surf.suffixBits(0, 2, 8).toString());
    assertEquals(Surf.suffixBits(2, 4).toString(), Surf.suffixBits(2, 4, 0).toString());
    assertEquals("{id=protean.Proteus;bits_per_key=14;point_lookups_use_whole_keys=true}",
        Proteus.bitsPerKey(14).pointLookupsUseWholeKeys(true).toString());
    assertEquals("{id=protean.Levels;policies={bloomfilter:10,{id=protean.Proteus;bits_per_key=12}}}",
        Levels.of(RangeFilter.of("bloomfilter:10"), Proteus.bitsPerKey(12)).toString());
    assertEquals("nullptr", RangeFilter.none().toString());
  }

  @Test
  void allAreTaken() {
    final RangeFilter[] filters = {Proteus.bitsPerKey(2), Proteus.bitsPerKey(64).prefixFilterType(Proteus.PrefixFilterType.AUTO),
        Proteus.bitsPerKey(12).levelBits(Proteus.LevelBits.AUTO),
        Proteus.bitsPerKey(12).prefixFilterType(Proteus.PrefixFilterType.BLOOM), Surf.suffixBits(0, 0),
        Surf.suffixBits(32, 32), Surf.suffixBits(16, 32, 16), Proteus.bitsPerKey(14).pointLookupsUseWholeKeys(false),
        Proteus.bitsPerKey(14).pointLookupsUseWholeKeys(true), Proteus.bitsPerKey(14).falsePositiveCostMicros(2),
        RangeFilter.none(), RangeFilter.of("bloomfilter:10"), RangeFilter.of("ribbonfilter:10"),
        Levels.of(RangeFilter.none(), RangeFilter.of("ribbonfilter:10"), Surf.suffixBits(0, 4), Proteus.bitsPerKey(12))};
    final ProteanTableConfig table = new ProteanTableConfig();
    for (final RangeFilter filter : filters) {
      table.setRangeFilter(filter);
      assertEquals(filter.toString(), table.rangeFilter());
    }
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "proteus:1 | numbers from 2 to 64",
      "proteus:twelve | numbers from 2 to 64",
      "proteus:12:cuckoo | kAuto, kBloom, kRibbon",
      "proteus:12;block_size=1 | numbers from 2 to 64",
      "{id=protean.Proteus;level_bits=some} | kAuto, kEqual",
      "{id=protean.Proteus;sample_every=0} | from 1 to",
      "proteus:12M | filter_budget_bytes=2G",
      "{id=protean.Proteus;bits=12} | there is no option bits",
      "surf:4 | surf[:HASH_BITS:REAL_BITS",
      "surf:33:0 | from 0 to 32",
      "surf:0:0:17 | from 0 to 16",
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
  void badOptions() {
    final ProteanTableConfig table = new ProteanTableConfig();
    for (final double bits : new double[] {1.9, 64.1, -3, 1e300, Double.NaN, Double.POSITIVE_INFINITY}) {
      assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Proteus.bitsPerKey(bits)));
    }
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Surf.suffixBits(-1, 0)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Surf.suffixBits(0, 33)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Surf.suffixBits(0, 0, 17)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Surf.suffixBits(0, 0, -1)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Surf.suffixBits(32, 32, 1)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Proteus.bitsPerKey(12).sampleCapacity(0)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Proteus.bitsPerKey(12).sampleEvery(1L << 32)));
    assertThrows(IllegalArgumentException.class, () -> table.setRangeFilter(Levels.of()));
    assertThrows(IllegalArgumentException.class,
        () -> table.setRangeFilter(Levels.of(Levels.of(Surf.suffixBits(0, 4)), Surf.suffixBits(0, 4))));
    for (final String file : new String[] {"", "a;b", "{a", " a", "a\nb", "a\\b"}) {
      assertThrows(IllegalArgumentException.class, () -> Proteus.bitsPerKey(12).samplesFile(Path.of(file)));
    }
    assertThrows(NullPointerException.class, () -> table.setRangeFilter((String) null));
    assertThrows(NullPointerException.class, () -> RangeFilter.of(null));
    assertEquals(ProteanTableConfig.DEFAULT_RANGE_FILTER, table.rangeFilter());
  }
}
