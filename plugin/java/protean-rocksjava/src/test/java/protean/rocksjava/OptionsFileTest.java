// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TableFormatConfig;

/** OPTIONS files with ProteanTable, RocksDB's own and the user's. */
class OptionsFileTest {
  @TempDir Path folder;

  private interface Read {
    void run(DBOptions options, List<ColumnFamilyDescriptor> families) throws RocksDBException;
  }

  private void readLatest(final Path db, final Read read) throws RocksDBException {
    try (ConfigOptions config = new ConfigOptions(); DBOptions options = new DBOptions()) {
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      OptionsUtil.loadLatestOptions(config, db.toString(), options, families);
      read.run(options, families);
      families.forEach(family -> family.getOptions().close());
    }
  }

  @Test
  @SuppressWarnings("deprecation") // there is no other way to ask for the size of the cache
  void roundTrip() throws RocksDBException {
    final ProteanTableConfig table = new ProteanTableConfig()
        .setRangeFilter("{id=protean.Proteus;bits_per_key=10;prefix_filter_type=kBloom;sample_every=3}");
    table.setBlockSize(2345).setFormatVersion(5).setIndexType(IndexType.kBinarySearchWithFirstKey);
    final Records records = new Records(1);
    try (Options options = new Options().setCreateIfMissing(true).setDisableAutoCompactions(true).setTableFormatConfig(table);
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 2000);
    }
    for (int i = 0; i < 2; i++) {
      final boolean again = i == 1;
      readLatest(folder, (options, families) -> {
        assertEquals(1, families.size());
        final ColumnFamilyOptions family = families.get(0).getOptions();
        final ProteanTableConfig read = assertInstanceOf(ProteanTableConfig.class, family.tableFormatConfig());
        assertEquals(2345, read.blockSize());
        assertEquals(5, read.formatVersion());
        assertEquals(IndexType.kBinarySearchWithFirstKey, read.indexType());
        assertTrue(read.blockCacheSize() > 0);
        assertTrue(read.rangeFilter().matches("\\{id=protean.Proteus;.*bits_per_key=10\\.0*;.*"), read.rangeFilter());
        assertTrue(read.rangeFilter().contains("prefix_filter_type=kBloom"), read.rangeFilter());
        assertTrue(read.rangeFilter().contains("sample_every=3;"), read.rangeFilter());
        if (again) {
          // What has been read can be set again, with changes.
          read.setRangeFilter(read.rangeFilter()).setBlockSize(4321);
          family.setTableFormatConfig(read);
        }
        final List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (RocksDB db = RocksDB.open(options, folder.toString(), families, handles)) {
          records.check(db, 1000);
          final FilterStatistics statistics = Protean.filterStatistics(db, handles.get(0));
          assertTrue(statistics.count("total.bounded_seeks.negatives") > 1000, statistics.toString());
          assertTrue(statistics.count("samples.sampled") > 100, statistics.toString());
          handles.forEach(ColumnFamilyHandle::close);
        }
      });
    }
    readLatest(folder, (options, families) -> assertEquals(4321,
        ((BlockBasedTableConfig) families.get(0).getOptions().tableFormatConfig()).blockSize()));
  }

  @Test
  void otherTablesAreReadAsEver() throws RocksDBException {
    Protean.load();
    try (BloomFilter bloom = new BloomFilter(10); Options options = new Options().setCreateIfMissing(true)
        .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(bloom).setBlockSize(1234))) {
      RocksDB.open(options, folder.toString()).close();
    }
    readLatest(folder, (options, families) -> {
      final TableFormatConfig read = families.get(0).getOptions().tableFormatConfig();
      assertFalse(read instanceof ProteanTableConfig);
      assertEquals(1234, ((BlockBasedTableConfig) read).blockSize());
    });
  }

  @Test
  void fileOfTheUser() throws RocksDBException, IOException {
    Protean.load();
    final Path file = folder.resolve("options.ini");
    Files.writeString(file, String.join("\n", "[Version]", "rocksdb_version=9.10.0", "options_file_version=1.1",
        "[DBOptions]", "create_if_missing=true", "create_missing_column_families=true",
        "[CFOptions \"default\"]", "table_factory=ProteanTable",
        "[TableOptions/ProteanTable \"default\"]", "filter_policy=levels:bloomfilter:10,proteus:12",
        "[CFOptions \"plain\"]", "table_factory=ProteanTable",
        "[TableOptions/ProteanTable \"plain\"]", "filter_policy=nullptr",
        "[CFOptions \"other\"]", "table_factory=ProteanTable",
        "[TableOptions/ProteanTable \"other\"]", "filter_policy=bloomfilter:10", ""));
    try (ConfigOptions config = new ConfigOptions(); DBOptions options = new DBOptions()) {
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      OptionsUtil.loadOptionsFromFile(config, file.toString(), options, families);
      assertEquals(3, families.size());
      final List<String> policies = new ArrayList<>();
      for (final ColumnFamilyDescriptor family : families) {
        final ProteanTableConfig table =
            assertInstanceOf(ProteanTableConfig.class, family.getOptions().tableFormatConfig());
        policies.add(table.rangeFilter());
        ProteanTableConfig.checkRangeFilter(table.rangeFilter());
      }
      assertTrue(policies.get(0).contains("protean.Levels"), policies.toString());
      assertEquals("nullptr", policies.get(1));
      assertTrue(policies.get(2).contains("bloom"), policies.toString());
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      try (RocksDB db = RocksDB.open(options, folder.resolve("db").toString(), families, handles)) {
        final Records records = new Records(3);
        records.write(db, 2, 1000);
        records.check(db, 200);
        handles.forEach(ColumnFamilyHandle::close);
      }
      families.forEach(family -> family.getOptions().close());
    }
  }
}
