// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/** Filters in parts, alone and with the options by which RocksDB's users partition theirs. */
class PartitionedFiltersTest {
  @TempDir Path folder;

  /** The cache has room for some of the parts. */
  private static final int CACHE_BYTES = 16 << 10;

  private static BlockBasedTableConfig partitioned(final BlockBasedTableConfig table) {
    return table.setPartitionFilters(true).setIndexType(IndexType.kTwoLevelIndexSearch).setMetadataBlockSize(4096)
        .setCacheIndexAndFilterBlocks(true).setPinTopLevelIndexAndFilter(true);
  }

  private static Options options(final BlockBasedTableConfig table) {
    return new Options().setCreateIfMissing(true).setDisableAutoCompactions(true).setTableFormatConfig(table);
  }

  /** All files have filters that seeks ask, and these spare most seeks. */
  private static void checkFilters(final FilterStatistics statistics) {
    assertEquals(statistics.get("total.open_files"), statistics.get("total.used_files"), statistics.toString());
    assertTrue(statistics.count("total.bounded_seeks.negatives") + statistics.count("total.bounded_seeks.passed") > 1000,
        statistics.toString());
    assertTrue(statistics.get("total.bounded_seeks.fpr") < 0.2, statistics.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"proteus:12", "surf:0:8", "levels:surf:0:8,bloomfilter:10,proteus:12",
      "{id=protean.Proteus;filter_budget_bytes=1M}"})
  void getsAndSeeks(final String policy) throws RocksDBException {
    final Records records = new Records(policy.hashCode());
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter(policy);
    try (Cache cache = new LRUCache(CACHE_BYTES, 0)) {
      partitioned(table).setBlockCache(cache);
      try (Statistics counts = new Statistics(); Options options = options(table).setStatistics(counts);
          RocksDB db = RocksDB.open(options, folder.toString())) {
        records.write(db, 3, 9000);
        records.check(db, 1000);
        final FilterStatistics statistics = Protean.filterStatistics(db, null);
        checkFilters(statistics);
        // Blocks of parts, and of their indexes, are far smaller than the filters.
        final long blocks = counts.getTickerCount(TickerType.BLOCK_CACHE_FILTER_ADD);
        final long bytes = counts.getTickerCount(TickerType.BLOCK_CACHE_FILTER_BYTES_INSERT);
        final long filters = statistics.count("total.open_files");
        assertTrue(blocks > 4 * filters, blocks + " blocks");
        assertTrue(bytes / blocks < statistics.count("total.filter_bytes") / filters / 2, bytes + " bytes in " + blocks + " blocks");
        try (CompactRangeOptions compact = new CompactRangeOptions()) {
          db.compactRange(null, null, null, compact);
        }
        records.check(db, 500);
        records.checkAll(db);
      }
    }
  }

  @Test
  void optionsFile() throws RocksDBException {
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("proteus:10");
    partitioned(table);
    final Records records = new Records(1);
    try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 9000);
    }
    for (int i = 0; i < 2; i++) {
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      try (ConfigOptions config = new ConfigOptions(); DBOptions options = new DBOptions()) {
        OptionsUtil.loadLatestOptions(config, folder.toString(), options, families);
        final ProteanTableConfig read =
            assertInstanceOf(ProteanTableConfig.class, families.get(0).getOptions().tableFormatConfig());
        assertTrue(read.partitionFilters());
        assertEquals(IndexType.kTwoLevelIndexSearch, read.indexType());
        assertEquals(4096, read.metadataBlockSize());
        assertTrue(read.cacheIndexAndFilterBlocks());
        assertTrue(read.pinTopLevelIndexAndFilter());
        assertTrue(read.rangeFilter().contains("bits_per_key=10"), read.rangeFilter());
        if (i == 1) {
          // What has been read can be set again.
          families.get(0).getOptions().setTableFormatConfig(read);
        }
        final List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (RocksDB db = RocksDB.open(options, folder.toString(), families, handles)) {
          records.check(db, 1000);
          checkFilters(Protean.filterStatistics(db, handles.get(0)));
          handles.forEach(ColumnFamilyHandle::close);
        }
      }
      families.forEach(family -> family.getOptions().close());
    }
  }

  /** Files of both kinds live side by side, and RocksDB reads them without Protean. */
  @Test
  void switchedOnAndOff() throws RocksDBException {
    final Records records = new Records(2);
    for (final boolean parts : new boolean[] {true, false, true}) {
      final ProteanTableConfig table = new ProteanTableConfig();
      if (parts) {
        partitioned(table);
      }
      try (Options options = options(table); RocksDB db = RocksDB.open(options, folder.toString())) {
        records.write(db, 2, 4000);
        records.check(db, 1500);
        checkFilters(Protean.filterStatistics(db, null));
      }
    }
    try (Options options = options(partitioned(new BlockBasedTableConfig()));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.check(db, 200);
      records.checkAll(db);
    }
  }
}
