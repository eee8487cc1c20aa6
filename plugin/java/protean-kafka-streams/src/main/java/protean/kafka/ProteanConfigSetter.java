// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.internals.BlockBasedTableConfigWithAccessibleCache;
import org.rocksdb.Options;
import org.rocksdb.TableFormatConfig;
import protean.rocksjava.ProteanTableConfig;

/**
 * Gives every RocksDB state store Protean's filters: {@code rocksdb.config.setter=protean.kafka.ProteanConfigSetter}.
 *
 * <p>All options stay as Kafka Streams, or the application's own setter, has set them, except for two: the table is a
 * {@code ProteanTable} with a filter policy of Protean, and {@code optimize_filters_for_hits}, with which the last level
 * would have no filters, is off. Existing files stay as they are, and get filters when they are compacted.
 *
 * <p>The properties, all of which are optional, with their defaults:
 *
 * <ul>
 *   <li>{@code protean.enabled}: with {@code false}, stores work as without Protean. {@code true}
 *   <li>{@code protean.filter.policy}: the filter policy of new files. {@code proteus:12}
 *   <li>{@code protean.filter.policy.STORE}: the filter policy of one store
 *   <li>{@code protean.on.failure}: {@code fail}, or {@code stock} to go on without it if the native library cannot be loaded.
 *       {@code fail}
 *   <li>{@code protean.rocksdb.config.setter}: the application's own setter, which is called first
 * </ul>
 *
 * <p>Kafka Streams creates one instance for each RocksDB. It owns no native objects.
 */
public final class ProteanConfigSetter implements RocksDBConfigSetter {
  private RocksDBConfigSetter setter;

  /** Called by Kafka Streams for {@code rocksdb.config.setter}. */
  public ProteanConfigSetter() {}

  /**
   * Called by Kafka Streams before it opens a store.
   *
   * @param storeName the store, or one of its segments
   * @param options the options of its RocksDB
   * @param configs the application's properties
   * @throws ConfigException if a property {@code protean.*} is unknown or has no valid value, if the native library
   *     cannot be loaded, or if the application's setter has replaced the table format that
   *     {@code options.tableFormatConfig()} had
   */
  @Override
  public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
    final ProteanSettings settings = ProteanSettings.of(configs);
    final String policy = settings.policyOf(storeName);
    // All checks come before the application's setter, which may own resources from then on.
    final boolean filtered = settings.enabled() && ProteanLibrary.load(settings);
    if (filtered) {
      check(policy, storeName);
    }
    if (settings.setter() != null) {
      setter = Utils.newInstance(settings.setter());
      setter.setConfig(storeName, options, configs);
    }
    if (!filtered) {
      return;
    }
    final TableFormatConfig table = options.tableFormatConfig();
    if (!(table instanceof BlockBasedTableConfigWithAccessibleCache blockBased)) {
      close(storeName, options);
      throw new ConfigException(
          "Store " + storeName + " has the table format "
              + (table == null ? "null" : table.getClass().getName())
              + ". A config setter must change the one that Options.tableFormatConfig() returns, not replace it");
    }
    options.setTableFormatConfig(new ProteanTableFormat(blockBased, policy, sampleGroup(storeName, configs)));
    options.setOptimizeFiltersForHits(false);
  }

  private static void check(final String policy, final String storeName) {
    try {
      ProteanTableConfig.checkRangeFilter(policy);
    } catch (final IllegalArgumentException e) {
      throw new ConfigException(
          "The filter policy " + policy + " of store " + storeName + " cannot be used: " + e.getMessage());
    }
  }

  /** All segments of a store, of all its tasks in this process, get similar queries: they share their samples. */
  private static String sampleGroup(final String storeName, final Map<String, Object> configs) {
    return configs.get(StreamsConfig.APPLICATION_ID_CONFIG) + "/" + ProteanSettings.storeOf(storeName);
  }

  /**
   * Called by Kafka Streams when it has closed the store.
   *
   * @param storeName the store, or one of its segments
   * @param options the options of its RocksDB
   */
  @Override
  public void close(final String storeName, final Options options) {
    if (setter != null) {
      setter.close(storeName, options);
    }
  }
}
