// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofMillis;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.StoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStore;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import protean.rocksjava.Facts;
import protean.rocksjava.Protean;

/** Filters are asked, and deny: searches that find nothing read no blocks. */
class FilteredSearchesTest {
  private static final int KEYS = 1_000;
  private static final int FILES = 3;
  /** Numbers that are divisible by this are stored. */
  private static final int STRIDE = 1_000;
  private static final long RETENTION = 1_000_000;

  private static Statistics statistics;
  @TempDir Path folder;

  /** Small blocks, and a count of those that RocksDB reads. */
  public static final class Counting implements RocksDBConfigSetter {
    @Override
    public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
      final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockSize(512);
      options.setTableFormatConfig(table);
      options.setStatistics(statistics);
    }

    @Override
    public void close(final String storeName, final Options options) {}
  }

  private static Bytes key(final int number) {
    return Bytes.wrap(ByteBuffer.allocate(12).putInt(number).putLong(number * 0x9E3779B97F4A7C15L).array());
  }

  private static Bytes stored(final int i) {
    return key(STRIDE * i);
  }

  /** Between two of them. */
  private static Bytes missing(final int i) {
    return key(STRIDE * i + STRIDE / 3);
  }

  /** Behind {@code missing}, below the next that is stored. */
  private static Bytes after(final int i) {
    return prefix(STRIDE * i + STRIDE / 2);
  }

  private static Bytes prefix(final int number) {
    return Bytes.wrap(ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
  }

  private static void drain(final KeyValueIterator<?, ?> iterator) {
    try (iterator) {
      assertFalse(iterator.hasNext());
    }
  }

  /** How many data blocks a search reads, and what the metrics say after all of them. */
  private record Reads(double blocks, Map<String, Double> metrics) {}

  private <S extends StateStore> Reads measure(
      final StoreSupplier<S> supplier,
      final Map<String, String> properties,
      final Consumer<S> write,
      final Consumer<S> search) {
    statistics = new Statistics();
    final InternalMockProcessorContext<?, ?> context =
        StorePair.context(
            folder.resolve(properties.isEmpty() ? "on" : properties.keySet().iterator().next()).toFile(),
            Counting.class,
            properties);
    for (int i = 0; i < FILES; ++i) {
      final S store = open(supplier, context);
      write.accept(store);
      store.close(); // Writes SST files.
    }
    final S store = open(supplier, context);
    try {
      final long before = blocks();
      search.accept(store);
      final double reads = (double) (blocks() - before) / KEYS;
      final Map<String, Double> metrics = new TreeMap<>();
      context.metrics().metrics().forEach((name, metric) -> {
        if (name.group().equals(StoreMetrics.GROUP)) {
          metrics.put(name.name(), (Double) metric.metricValue());
        }
      });
      return new Reads(reads, metrics);
    } finally {
      store.close();
      assertFalse(
          context.metrics().metrics().keySet().stream().anyMatch(name -> name.group().equals(StoreMetrics.GROUP)));
      statistics.close();
    }
  }

  private static <S extends StateStore> S open(
      final StoreSupplier<S> supplier, final InternalMockProcessorContext<?, ?> context) {
    final S store = supplier.get();
    store.init(context, store);
    return store;
  }

  private static long blocks() {
    return statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_HIT)
        + statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_MISS);
  }

  private <S extends StateStore> void assertSpared(
      final StoreSupplier<S> supplier, final Consumer<S> write, final Consumer<S> search) {
    final Reads stock = measure(supplier, Map.of("protean.enabled", "false"), write, search);
    final Reads protean = measure(supplier, Map.of(), write, search);
    assertTrue(stock.blocks() >= 1, "stock: " + stock);
    assertTrue(protean.blocks() <= 0.1, "Protean: " + protean);
    assertTrue(stock.metrics().isEmpty());
    final Map<String, Double> metrics = protean.metrics();
    assertEquals(KEYS, metrics.get("bounded-search-total"), metrics.toString());
    assertTrue(metrics.get("bounded-seek-negative") >= KEYS / 2, metrics.toString());
    assertTrue(metrics.get("block-reads-avoided") >= KEYS / 2, metrics.toString());
    assertTrue(metrics.get("filter-bytes") > 0, metrics.toString());
    assertTrue(metrics.get("filter-bits-per-key") > 6 && metrics.get("filter-bits-per-key") < 20, metrics.toString());
    assertTrue(metrics.get("filtered-files") > 0, metrics.toString());
    assertEquals(0, metrics.get("unfiltered-files"), metrics.toString());
    System.out.printf(
        "%s: %.3f blocks a search with Kafka's filters, %.3f with Protean's%n",
        supplier.get().getClass().getSimpleName(), stock.blocks(), protean.blocks());
  }

  private static void each(final IntConsumer search) {
    for (int i = 0; i < KEYS; ++i) {
      search.accept(i);
    }
  }

  private static void writeWindows(final WindowStore<Bytes, byte[]> store) {
    for (int i = 0; i <= KEYS; ++i) {
      store.put(stored(i), new byte[20], 500_000);
    }
  }

  private static void writeKeys(final KeyValueStore<Bytes, byte[]> store) {
    for (int i = 0; i <= KEYS; ++i) {
      store.put(stored(i), new byte[20]);
    }
  }

  private static WindowBytesStoreSupplier windows() {
    return ProteanStores.bounded(Stores.persistentWindowStore("store", ofMillis(RETENTION), ofMillis(1_000), false));
  }

  @Test
  void windowsOfAKey() {
    assertSpared(
        windows(),
        FilteredSearchesTest::writeWindows,
        store -> each(i -> drain(store.fetch(missing(i), 400_000, 600_000))));
  }

  @Test
  void windowsOfAKeyBackwards() {
    assertSpared(
        ProteanStores.bounded(Stores.persistentTimestampedWindowStore("store", ofMillis(RETENTION), ofMillis(1_000), false)),
        FilteredSearchesTest::writeWindows,
        store -> each(i -> drain(store.backwardFetch(missing(i), 400_000, 600_000))));
  }

  /** Ranges close to what is stored: filters must have seen such searches. What one RocksDB sees, the store's others know. */
  @Test
  void windowsOfAKeyAtOtherTimes() {
    final Map<String, String> properties =
        Map.of("protean.filter.policy.store", "{id=protean.Proteus;bits_per_key=12;sample_every=1}");
    final Consumer<WindowStore<Bytes, byte[]>> search =
        store -> each(i -> drain(store.fetch(stored(i), 510_000, 520_000)));
    final Consumer<WindowStore<Bytes, byte[]>> write =
        store -> {
          search.accept(store);
          writeWindows(store);
        };
    final Reads stock = measure(windows(), Map.of("protean.enabled", "false"), write, search);
    // The store of another task, which stays open.
    final WindowStore<Bytes, byte[]> other =
        open(windows(), StorePair.context(folder.resolve("other").toFile(), StorePair.SmallFiles.class, properties));
    final Reads protean;
    try {
      other.put(stored(0), new byte[20], 500_000);
      protean = measure(windows(), properties, write, search);
    } finally {
      other.close();
    }
    assertTrue(stock.blocks() > 3, "stock: " + stock);
    // Two files have been written before there were samples.
    assertTrue(protean.blocks() < 2.5, "Protean: " + protean);
    assertTrue(protean.metrics().get("bounded-seek-negative") > 0.9 * KEYS, protean.toString());
    System.out.printf("%.3f blocks, %.3f with samples%n", stock.blocks(), protean.blocks());
  }

  /** Another partition of the store has seen such searches. */
  @Test
  void anotherPartitionHasLearned() {
    statistics = new Statistics();
    final Map<String, String> properties =
        Map.of("protean.filter.policy", "{id=protean.Proteus;bits_per_key=12;sample_every=1}");
    final var first = StorePair.context(folder.resolve("first").toFile(), Counting.class, properties);
    final var second = StorePair.context(folder.resolve("second").toFile(), Counting.class, properties);
    writeFile(windows(), first);
    final WindowStore<Bytes, byte[]> teaches = open(windows(), first);
    each(i -> drain(teaches.fetch(stored(i), 510_000, 520_000)));
    writeFile(windows(), second);
    final WindowStore<Bytes, byte[]> store = open(windows(), second);
    final long before = blocks();
    each(i -> drain(store.fetch(stored(i), 510_000, 520_000)));
    assertTrue(blocks() - before < 0.1 * KEYS, "blocks: " + (blocks() - before));
    store.close();
    teaches.close();
    statistics.close();
  }

  private static void writeFile(
      final WindowBytesStoreSupplier supplier, final InternalMockProcessorContext<?, ?> context) {
    final WindowStore<Bytes, byte[]> store = open(supplier, context);
    writeWindows(store);
    store.close();
  }

  /** Versioned stores have no bounds, but filters as all others. */
  @Test
  void versionedStores() {
    statistics = new Statistics();
    final var context = StorePair.context(folder.resolve("versioned").toFile(), Counting.class, Map.of());
    final StoreSupplier<KeyValueStore<Bytes, byte[]>> supplier =
        Stores.persistentVersionedKeyValueStore("store", ofMillis(RETENTION));
    final var store = (VersionedBytesStore) open(supplier, context);
    each(i -> store.put(stored(i), new byte[20], 500_000));
    each(i -> store.put(stored(i), new byte[20], 510_000));
    store.close();
    final var again = (VersionedBytesStore) open(supplier, context);
    final Facts sums = Protean.filterSums(folder.toString());
    assertTrue(sums.count("keys") >= 2 * KEYS, sums.toString());
    assertEquals(sums.count("open_files"), sums.count("used_files"), sums.toString());
    again.close();
    statistics.close();
  }

  /** For a store that is asked for single keys only. */
  @Test
  void filtersOfRocksDB() {
    statistics = new Statistics();
    final var context =
        StorePair.context(
            folder.resolve("bloom").toFile(), Counting.class, Map.of("protean.filter.policy.store", "bloomfilter:10"));
    final StoreSupplier<KeyValueStore<Bytes, byte[]>> supplier =
        ProteanStores.bounded(Stores.persistentKeyValueStore("store"));
    final KeyValueStore<Bytes, byte[]> store = open(supplier, context);
    writeKeys(store);
    store.close();
    final KeyValueStore<Bytes, byte[]> again = open(supplier, context);
    final Facts sums = Protean.filterSums(folder.toString());
    assertTrue(sums.count("open_files") > 0, sums.toString());
    assertEquals(sums.count("open_files"), sums.count("unused_files.rocksdb_filter"), sums.toString());
    final long before = blocks();
    each(i -> assertNull(again.get(missing(i))));
    assertTrue(blocks() - before < 0.1 * KEYS, "blocks: " + (blocks() - before));
    again.close();
    statistics.close();
  }

  @Test
  void windowsOfSeveralKeys() {
    assertSpared(
        windows(),
        FilteredSearchesTest::writeWindows,
        store -> each(i -> drain(store.fetch(missing(i), after(i), 400_000, 600_000))));
  }

  @Test
  void sessions() {
    assertSpared(
        ProteanStores.bounded(Stores.persistentSessionStore("store", ofMillis(RETENTION))),
        store -> each(i -> store.put(new Windowed<>(stored(i), new SessionWindow(500_000, 500_100)), new byte[20])),
        store -> each(i -> drain(store.findSessions(missing(i), 400_000, 600_000))));
  }

  @Test
  void ranges() {
    assertSpared(
        ProteanStores.bounded(Stores.persistentKeyValueStore("store")),
        FilteredSearchesTest::writeKeys,
        store -> each(i -> drain(store.range(missing(i), after(i)))));
  }

  @Test
  void rangesBackwards() {
    assertSpared(
        ProteanStores.bounded(Stores.persistentTimestampedKeyValueStore("store")),
        FilteredSearchesTest::writeKeys,
        store -> each(i -> drain(store.reverseRange(missing(i), after(i)))));
  }

  @Test
  void prefixes() {
    assertSpared(
        ProteanStores.bounded(Stores.persistentKeyValueStore("store")),
        FilteredSearchesTest::writeKeys,
        store -> each(i -> drain(store.prefixScan(prefix(STRIDE * i + STRIDE / 3), new BytesSerializer()))));
  }
}
