// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.internals.BlockBasedTableConfigWithAccessibleCache;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.ChecksumType;
import org.rocksdb.DataBlockIndexType;
import org.rocksdb.IndexShorteningMode;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.PlainTableConfig;
import org.rocksdb.RocksDB;

class ProteanConfigSetterTest {
  @BeforeAll
  static void load() {
    RocksDB.loadLibrary();
  }

  /** Returns the options that Kafka has made when it calls a setter. */
  private static Options kafkas(final Cache cache) {
    final BlockBasedTableConfigWithAccessibleCache table = new BlockBasedTableConfigWithAccessibleCache();
    table.setBlockCache(cache);
    table.setBlockSize(4096);
    return new Options().setOptimizeFiltersForHits(true).setTableFormatConfig(table);
  }

  private static void set(final Options options, final Map<String, Object> properties) {
    new ProteanConfigSetter().setConfig("store", options, properties);
  }

  @Test
  void theTableIsProteansAndKeepsTheCache() {
    try (Cache cache = new LRUCache(1 << 20);
        Options options = kafkas(cache)) {
      set(options, Map.of("application.id", "app"));
      final ProteanTableFormat table = (ProteanTableFormat) options.tableFormatConfig();
      assertEquals("proteus:12", table.policy());
      assertSame(cache, table.blockCache());
      assertEquals("app/store", table.sampleGroup());
      assertEquals("ProteanTable", options.tableFactoryName());
      assertFalse(options.optimizeFiltersForHits());
    }
  }

  @Test
  void disabled() {
    try (Cache cache = new LRUCache(1 << 20);
        Options options = kafkas(cache)) {
      set(options, Map.of("protean.enabled", "false"));
      assertEquals(BlockBasedTableConfigWithAccessibleCache.class, options.tableFormatConfig().getClass());
      assertEquals("BlockBasedTable", options.tableFactoryName());
      assertTrue(options.optimizeFiltersForHits());
    }
  }

  @Test
  void aPolicyThatDoesNotExistIsRefused() {
    try (Cache cache = new LRUCache(1 << 20);
        Options options = kafkas(cache)) {
      final ConfigException e =
          assertThrows(ConfigException.class, () -> set(options, Map.of("protean.filter.policy.store", "proteus:x")));
      assertTrue(e.getMessage().contains("store") && e.getMessage().contains("proteus:x"), e.getMessage());
      assertThrows(ConfigException.class, () -> set(options, Map.of("protean.filter", "proteus:12")));
    }
  }

  @Test
  void aTableThatReplacesKafkasIsRefused() {
    try (Options options = new Options()) {
      assertThrows(ConfigException.class, () -> set(options, Map.of()));
      options.setTableFormatConfig(new BlockBasedTableConfig());
      assertThrows(ConfigException.class, () -> set(options, Map.of()));
      options.setTableFormatConfig(new PlainTableConfig());
      assertThrows(ConfigException.class, () -> set(options, Map.of()));
    }
  }

  /** An application's own setter. */
  public static final class Own implements RocksDBConfigSetter {
    static int closed;

    @Override
    public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
      final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockSize(1234);
      options.setTableFormatConfig(table);
      options.setMaxWriteBufferNumber(7);
      assertEquals("yes", configs.get("own"));
    }

    @Override
    public void close(final String storeName, final Options options) {
      ++closed;
    }
  }

  @Test
  void theApplicationsSetterComesFirst() {
    try (Cache cache = new LRUCache(1 << 20);
        Options options = kafkas(cache)) {
      final ProteanConfigSetter setter = new ProteanConfigSetter();
      setter.setConfig("store", options, Map.of("protean.rocksdb.config.setter", Own.class, "own", "yes"));
      assertEquals(1234, ((BlockBasedTableConfig) options.tableFormatConfig()).blockSize());
      assertEquals("ProteanTable", options.tableFactoryName());
      assertEquals(7, options.maxWriteBufferNumber());
      assertEquals(0, Own.closed);
      setter.close("store", options);
      assertEquals(1, Own.closed);
      new ProteanConfigSetter().close("store", options);
      assertEquals(1, Own.closed);
    }
  }

  @Test
  void allOptionsOfTheTableAreTakenOver() throws IllegalAccessException {
    try (Cache cache = new LRUCache(1 << 20);
        BloomFilter bloom = new BloomFilter()) {
      final BlockBasedTableConfigWithAccessibleCache other = otherThanDefault(cache, bloom);
      final BlockBasedTableConfigWithAccessibleCache usual = new BlockBasedTableConfigWithAccessibleCache();
      final ProteanTableFormat taken = new ProteanTableFormat(other, "proteus:12", "group");
      final Map<String, Object> same = new HashMap<>();
      for (final Field option : BlockBasedTableConfig.class.getDeclaredFields()) {
        if (Modifier.isStatic(option.getModifiers())) {
          continue;
        }
        option.setAccessible(true);
        assertEquals(option.get(other), option.get(taken), option.getName());
        if (Objects.equals(option.get(other), option.get(usual))) {
          same.put(option.getName(), option.get(other));
        }
      }
      // This option has no getter.
      assertEquals(Set.of("persistentCache"), same.keySet());
      assertSame(cache, taken.blockCache());
    }
  }

  @SuppressWarnings("deprecation")
  private static BlockBasedTableConfigWithAccessibleCache otherThanDefault(final Cache cache, final BloomFilter bloom) {
    final BlockBasedTableConfigWithAccessibleCache table = new BlockBasedTableConfigWithAccessibleCache();
    table.setBlockCache(cache);
    table.setBlockCacheSize(1);
    table.setCacheNumShardBits(1);
    table.setNoBlockCache(true);
    table.setCacheIndexAndFilterBlocks(true);
    table.setCacheIndexAndFilterBlocksWithHighPriority(false);
    table.setPinL0FilterAndIndexBlocksInCache(true);
    table.setPinTopLevelIndexAndFilter(false);
    table.setIndexType(IndexType.kHashSearch);
    table.setIndexShortening(IndexShorteningMode.kNoShortening);
    table.setIndexBlockRestartInterval(2);
    table.setMetadataBlockSize(1);
    table.setEnableIndexCompression(false);
    table.setDataBlockIndexType(DataBlockIndexType.kDataBlockBinaryAndHash);
    table.setDataBlockHashTableUtilRatio(0.5);
    table.setBlockSize(1);
    table.setBlockSizeDeviation(1);
    table.setBlockRestartInterval(1);
    table.setBlockAlign(true);
    table.setUseDeltaEncoding(false);
    table.setChecksumType(ChecksumType.kCRC32c);
    table.setVerifyCompression(true);
    table.setReadAmpBytesPerBit(1);
    table.setFormatVersion(5);
    table.setFilterPolicy(bloom);
    table.setPartitionFilters(true);
    table.setOptimizeFiltersForMemory(!table.optimizeFiltersForMemory());
    table.setWholeKeyFiltering(false);
    return table;
  }
}
