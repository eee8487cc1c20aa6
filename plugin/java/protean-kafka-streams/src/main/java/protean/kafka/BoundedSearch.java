// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import protean.rocksjava.SearchBounds;
import protean.rocksjava.SearchBounds.Scope;

/**
 * Runs those calls of a store that may seek, with the bounds of their results set, and counts them. Searches may come from
 * any thread.
 */
final class BoundedSearch {
  private static final Logger LOG = LoggerFactory.getLogger(BoundedSearch.class);

  private final LongAdder searches = new LongAdder();
  private volatile Function<KeyRange, Scope> bounds; // null: none are set
  private StoreMetrics metrics;

  /**
   * Must be called when the store is opened. Before that, and if Protean is off, no bounds are set.
   *
   * @param folder of the store's RocksDBs
   */
  void open(final String store, final StateStoreContext context, final Path folder) {
    if (!usesProtean(store, context.appConfigs())) {
      return;
    }
    use(range -> SearchBounds.within(range.lower(), range.upper()));
    if (metrics == null) {
      metrics = new StoreMetrics(store, context, folder, this::searches);
    }
  }

  /** Must be called when the store is closed; may be called repeatedly. */
  void close() {
    use(null);
    if (metrics != null) {
      metrics.remove();
      metrics = null;
    }
  }

  /** The searches that had bounds. */
  long searches() {
    return searches.sum();
  }

  /** Makes searches set their bounds by this function from now on; null: they set none. */
  void use(final Function<KeyRange, Scope> bounds) {
    this.bounds = bounds;
  }

  /** Calls {@code search} with the bounds set, if there are any; counts it as a search. */
  <T> T within(final KeyRange range, final Supplier<T> search) {
    try (Scope scope = enter(range)) {
      if (scope != null && scope.isSet()) {
        searches.increment();
      }
      return search.get();
    }
  }

  /** Sets the bounds, if there are any. Returns what removes them; null if there is nothing to remove. */
  Scope enter(final KeyRange range) {
    final Function<KeyRange, Scope> now = bounds;
    return range == null || now == null ? null : now.apply(range);
  }

  private static boolean usesProtean(final String store, final Map<String, Object> properties) {
    final ProteanSettings settings = ProteanSettings.of(properties);
    if (!settings.enabled()) {
      return false;
    }
    if (properties.get(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG) == null) {
      LOG.warn(
          "Store {} has no filters that could use the bounds of its searches; set {}={}",
          store, StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, ProteanConfigSetter.class.getName());
      return false;
    }
    return ProteanLibrary.load(settings);
  }
}
