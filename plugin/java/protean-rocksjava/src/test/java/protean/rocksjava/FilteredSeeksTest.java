// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** Reads through filters find what there is, and no more than they must. */
class FilteredSeeksTest {
  @TempDir Path folder;

  private static Options options(final BlockBasedTableConfig table) {
    return new Options().setCreateIfMissing(true).setDisableAutoCompactions(true).setTableFormatConfig(table);
  }

  /** Most narrow ranges are spared, although some begin just behind a key. */
  private static void checkSpared(final FilterStatistics statistics) {
    assertTrue(statistics.count("total.bounded_seeks.negatives") + statistics.count("total.bounded_seeks.passed") > 1000,
        statistics.toString());
    assertTrue(statistics.get("total.bounded_seeks.fpr") < 0.2, statistics.toString());
  }

  private static void assertAllUsed(final FilterStatistics statistics) {
    assertTrue(statistics.count("total.open_files") > 0, statistics.toString());
    assertEquals(statistics.get("total.open_files"), statistics.get("total.used_files"), statistics.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"proteus:12", "proteus:14:bloom", "proteus:14:ribbon",
      "surf:0:8", "{id=protean.Proteus;bits_per_key=16;level_bits=kEqual;sample_every=1}",
      "{id=protean.SuRF;hash_suffix_bits=4;real_suffix_bits=8}", "surf:0:4:6",
      "{id=protean.Proteus;bits_per_key=20;point_lookups_use_whole_keys=true;sample_every=1}", "levels:proteus:12,surf:0:8"})
  void tableConfig(final String policy) throws RocksDBException {
    final Records records = new Records(policy.hashCode());
    try (Options options = options(new ProteanTableConfig().setRangeFilter(policy));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 3000);
      records.check(db, 1000);
      // Sets of one length, and what point_lookups_use_whole_keys=true leaves for ranges, let more through.
      if (!policy.contains("point_lookups_use_whole_keys=true")) {
        checkSpared(Protean.filterStatistics(db, null));
      }
      try (CompactRangeOptions compact = new CompactRangeOptions()) {
        db.compactRange(null, null, null, compact);
      }
      records.check(db, 1000);
      records.checkAll(db);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"{id=ProteanTable;filter_policy=proteus}", "{id=ProteanTable;filter_policy=surf:0:8;block_size=2048}"})
  void optionsString(final String table) throws RocksDBException {
    Protean.load();
    final Properties properties = new Properties();
    properties.setProperty("table_factory", table);
    properties.setProperty("disable_auto_compactions", "true");
    final Records records = new Records(1);
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (ColumnFamilyOptions family = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(properties);
        DBOptions options = new DBOptions().setCreateIfMissing(true)) {
      assertNotNull(family);
      try (RocksDB db = RocksDB.open(options, folder.toString(),
          List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family)), handles)) {
        records.write(db, 3, 3000);
        records.check(db, 1000);
        checkSpared(Protean.filterStatistics(db, handles.get(0)));
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
  }

  @Test
  void sharedCacheAndBloomFilter() throws RocksDBException {
    final Records records = new Records(2);
    try (Cache cache = new LRUCache(1 << 20); BloomFilter bloom = new BloomFilter(10)) {
      final ProteanTableConfig table = new ProteanTableConfig();
      assertTrue(assertThrows(UnsupportedOperationException.class, () -> table.setFilterPolicy(bloom)).getMessage()
          .contains("allowed: setRangeFilter"));
      table.setBlockCache(cache).setBlockSize(2048).setCacheIndexAndFilterBlocks(true);
      table.setRangeFilter("proteus:14");
      try (Options first = options(table); Options second = options(table);
          RocksDB db = RocksDB.open(first, folder.resolve("1").toString());
          RocksDB other = RocksDB.open(second, folder.resolve("2").toString())) {
        records.write(db, 3, 3000);
        final long before = cache.getUsage();
        records.check(db, 1000);
        assertTrue(cache.getUsage() > before);
        checkSpared(Protean.filterStatistics(db, null));
        final Records others = new Records(3);
        others.write(other, 2, 1000);
        others.check(other, 100);
      }
    }
  }

  @Test
  void defaultPolicy() throws RocksDBException {
    final ProteanTableConfig table = new ProteanTableConfig();
    assertEquals("proteus:12", table.rangeFilter());
    final Records records = new Records(4);
    try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 3000);
      records.check(db, 1000);
      checkSpared(Protean.filterStatistics(db, null));
      assertEquals(12, Protean.filterStatistics(db, null).get("total.bits_per_key"), 1);
    }
  }

  @Test
  void noFilters() throws RocksDBException {
    final Records records = new Records(5);
    try (Options options = options(new ProteanTableConfig().setRangeFilter("nullptr"));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 1000);
      records.check(db, 500);
      assertEquals(3, Protean.filterStatistics(db, null).get("total.unused_files.no_filter"));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void partitionFiltersConcernsTheIndex(final boolean twoLevels) throws RocksDBException {
    final ProteanTableConfig table = new ProteanTableConfig();
    final Records records = new Records(6);
    table.setPartitionFilters(true);
    if (twoLevels) {
      table.setIndexType(IndexType.kTwoLevelIndexSearch);
      table.setMetadataBlockSize(512);
    }
    try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 1000);
      records.check(db, 500);
      assertAllUsed(Protean.filterStatistics(db, null));
    }
  }

  /** Another class that extends RocksDB's, as Kafka Streams has one. */
  private static final class OtherConfig extends BlockBasedTableConfig {
    @Override
    protected long newTableFactoryHandle() {
      return ProteanTableConfig.toProtean(super.newTableFactoryHandle(), "surf:0:8", "");
    }
  }

  @Test
  void otherClass() throws RocksDBException {
    Protean.load();
    final Records records = new Records(6);
    try (Options options = options(new OtherConfig().setBlockSize(1024));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 2000);
      records.check(db, 1000);
      checkSpared(Protean.filterStatistics(db, null));
      assertEquals("SuRF", Protean.filterStatistics(db, null).list("files").get(0).text("filter.kind"));
    }
  }

  @Test
  void tablesOfAGroupShareSamples() throws RocksDBException {
    final String policy = "{id=protean.Proteus;bits_per_key=12;sample_every=1}";
    final Records records = new Records(8);
    try (Options teaches = options(new ProteanTableConfig().setRangeFilter(policy).setSampleGroup("readings"));
        RocksDB first = RocksDB.open(teaches, folder.resolve("first").toString())) {
      records.write(first, 1, 2000);
      records.check(first, 500);
      for (final String group : List.of("readings", "others", "")) {
        try (Options options = options(new ProteanTableConfig().setRangeFilter(policy).setSampleGroup(group));
            RocksDB db = RocksDB.open(options, folder.resolve("of " + group).toString())) {
          new Records(9).write(db, 1, 2000);
          final boolean shared = group.equals("readings");
          assertEquals(shared, Protean.filterStatistics(db, null).count("samples.held") > 0, group);
          records.write(db, 1, 10);
        }
      }
      // One that goes takes nothing away.
      assertTrue(Protean.filterStatistics(first, null).count("samples.held") > 0);
    }
    // With the last one, the group goes.
    try (Options options = options(new ProteanTableConfig().setRangeFilter(policy).setSampleGroup("readings"));
        RocksDB db = RocksDB.open(options, folder.resolve("later").toString())) {
      records.write(db, 1, 10);
      assertEquals(0, Protean.filterStatistics(db, null).count("samples.held"));
    }
  }

  @Test
  void stockRocksDBReadsTheFiles() throws RocksDBException {
    final Records records = new Records(7);
    try (Options options = options(new ProteanTableConfig()); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 2000);
    }
    try (BloomFilter bloom = new BloomFilter(10); Options options = options(new BlockBasedTableConfig().setFilterPolicy(bloom));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.check(db, 500);
      records.checkAll(db);
      records.write(db, 1, 1000);
    }
    // Files with RocksDB's filters are among them now.
    try (Options options = options(new ProteanTableConfig()); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.check(db, 500);
      records.checkAll(db);
      final FilterStatistics statistics = Protean.filterStatistics(db, null);
      assertEquals(1, statistics.get("total.unused_files.rocksdb_filter"), statistics.toString());
      try (CompactRangeOptions compact = new CompactRangeOptions()) {
        db.compactRange(null, null, null, compact);
      }
      records.checkAll(db);
      assertAllUsed(Protean.filterStatistics(db, null));
    }
  }

  @Test
  void samplesOutliveTheProcess() throws RocksDBException {
    final Path samples = folder.resolve("samples of queries");
    final Records records = new Records(8);
    final ProteanTableConfig table = new ProteanTableConfig()
        .setRangeFilter("{id=protean.Proteus;bits_per_key=12;sample_every=1;samples_file=" + samples + "}");
    try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.resolve("db").toString())) {
      records.write(db, 2, 1000);
      records.check(db, 500);
      assertTrue(Protean.filterStatistics(db, null).count("samples.sampled") > 100);
    }
    assertTrue(samples.toFile().length() > 100);
    try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.resolve("db").toString())) {
      assertTrue(Protean.filterStatistics(db, null).count("samples.held") > 100);
    }
  }
}
