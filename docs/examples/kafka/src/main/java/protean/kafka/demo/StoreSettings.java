// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.HistogramType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.Statistics;
import org.rocksdb.StatsLevel;

/**
 * The settings of RocksDB that all runs share, whatever their filters: one block cache for all stores of the process, a
 * small write buffer, so that the data are in files and these in several sorted runs, and statistics for each store.
 */
public final class StoreSettings implements RocksDBConfigSetter {
  static final String CACHE_BYTES = "demo.block.cache.bytes";
  static final String WRITE_BUFFER_BYTES = "demo.write.buffer.bytes";
  static final String DIRECT_READS = "demo.direct.reads";

  private static Cache cache;
  private static final Map<String, Statistics> STATISTICS = new ConcurrentHashMap<>();

  @Override
  public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
    final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
    table.setBlockCache(cache(Long.parseLong((String) configs.get(CACHE_BYTES))));
    options.setTableFormatConfig(table);
    options.setWriteBufferSize(Long.parseLong((String) configs.get(WRITE_BUFFER_BYTES)));
    // Reads past the page cache, which would hide what they cost.
    options.setUseDirectReads(Boolean.parseBoolean((String) configs.get(DIRECT_READS)));
    options.setStatistics(statistics(withoutSegment(storeName)));
  }

  /** Nothing: the cache and the statistics last as long as the process. */
  @Override
  public void close(final String storeName, final Options options) {}

  /** The name of the store that a segment, such as alarms-other-join-store.1767225600000, belongs to. */
  private static String withoutSegment(final String name) {
    final int dot = name.lastIndexOf('.');
    return dot < 0 ? name : name.substring(0, dot);
  }

  private static synchronized Cache cache(final long bytes) {
    if (cache == null) {
      cache = new LRUCache(bytes);
    }
    return cache;
  }

  /** The size of the blocks in the cache, in bytes. */
  static synchronized long cacheUsage() {
    return cache == null ? 0 : cache.getUsage();
  }

  /** The statistics of all segments and partitions of a store in this process. */
  static Statistics statistics(final String store) {
    return STATISTICS.computeIfAbsent(
        store,
        name -> {
          final Statistics statistics = new Statistics(EnumSet.allOf(HistogramType.class));
          statistics.setStatsLevel(StatsLevel.EXCEPT_DETAILED_TIMERS);
          return statistics;
        });
  }
}
