// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.internals.MockStreamsMetrics;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.internals.CachedStateStore;
import org.apache.kafka.streams.state.internals.ThreadCache;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.MockRecordCollector;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;

/** A stock store and one of Protean's, which are called alike and must answer alike. */
final class StorePair<S extends StateStore> implements AutoCloseable {
  private final Random random;
  private final Function<Boolean, StoreBuilder<S>> builder;
  private final Path folder;
  private final Map<Boolean, S> stores = new HashMap<>();
  private final Map<Boolean, InternalMockProcessorContext<?, ?>> contexts = new HashMap<>();
  private final Map<String, String> properties;
  private long searches;
  private long denied;

  /**
   * Makes them.
   *
   * @param builder of the store; given true, of one whose searches have bounds
   * @param properties what the second one has besides
   */
  StorePair(
      final Random random, final Function<Boolean, StoreBuilder<S>> builder, final Map<String, String> properties) {
    this.random = random;
    this.builder = builder;
    this.properties = properties;
    try {
      folder = Files.createTempDirectory("protean-kafka");
    } catch (final IOException e) {
      throw new UncheckedIOException(e);
    }
    open();
  }

  /** What is done with both stores. Given a time, it returns a time that is not before. */
  interface Step<S extends StateStore> {
    long take(StorePair<S> pair, int number, long now);
  }

  /** Calls a pair of stores at random, and makes sure that searches have had bounds, and that filters have denied some. */
  static <S extends StateStore> void walk(
      final long seed,
      final Function<Boolean, StoreBuilder<S>> stores,
      final boolean caching,
      final boolean logging,
      final String policy,
      final int steps,
      final Step<S> step) {
    final Function<Boolean, StoreBuilder<S>> builder =
        bounded -> {
          final StoreBuilder<S> made = stores.apply(bounded);
          final StoreBuilder<S> logged = logging ? made.withLoggingEnabled(Map.of()) : made.withLoggingDisabled();
          return caching ? logged.withCachingEnabled() : logged.withCachingDisabled();
        };
    try (StorePair<S> pair = new StorePair<>(new Random(seed), builder, Map.of(ProteanSettings.POLICY, policy))) {
      long now = 0;
      for (int number = 0; number < steps; ++number) {
        now = step.take(pair, number, now);
      }
      assertTrue(pair.searches() > steps / 20, "searches with bounds: " + pair.searches());
      if (!policy.equals("nullptr")) {
        assertTrue(pair.denied() > 0, "files denied: " + pair.denied());
      }
    }
  }

  /** Small blocks and files, and many of them, so that there is something for filters to deny. */
  public static final class SmallFiles implements RocksDBConfigSetter {
    @Override
    public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
      final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockSize(256);
      options.setTableFormatConfig(table);
      options.setTargetFileSizeBase(1 << 12);
      options.setArenaBlockSize(1 << 12);
      options.setDbWriteBufferSize(1 << 14);
    }

    @Override
    public void close(final String storeName, final Options options) {}
  }

  private void open() {
    for (final boolean protean : List.of(false, true)) {
      final File stateDir = folder.resolve(protean ? "protean" : "stock").toFile();
      contexts.put(
          protean, context(stateDir, SmallFiles.class, protean ? properties : Map.of("protean.enabled", "false")));
      final S store = builder.apply(protean).build();
      store.init(contexts.get(protean), store);
      stores.put(protean, store);
    }
  }

  /** The context of a store with Protean's setter, and another one that it calls. */
  static InternalMockProcessorContext<?, ?> context(
      final File stateDir, final Class<? extends RocksDBConfigSetter> setter, final Map<String, String> properties) {
    stateDir.mkdirs();
    final Map<String, Object> config = new HashMap<>();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    config.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, ProteanConfigSetter.class);
    config.put(ProteanSettings.SETTER, setter);
    config.putAll(properties);
    final MockStreamsMetrics metrics = new MockStreamsMetrics(new Metrics());
    final InternalMockProcessorContext<?, ?> context =
        new InternalMockProcessorContext<>(
            stateDir,
            Serdes.Bytes(),
            Serdes.String(),
            metrics,
            new StreamsConfig(config),
            MockRecordCollector::new,
            new ThreadCache(new LogContext(), 1 << 14, metrics),
            Time.SYSTEM);
    context.setTime(1);
    return context;
  }

  Random random() {
    return random;
  }

  /** How many searches have had bounds. */
  long searches() {
    return searches + metric("bounded-search-total");
  }

  /** How many files filters have denied to searches with bounds. */
  long denied() {
    return denied + metric("bounded-seek-negative") + metric("bounded-seek-passed");
  }

  /** Calls both. */
  void both(final Consumer<S> call) {
    both("", store -> {
      call.accept(store);
      return null;
    });
  }

  /** Calls both, and compares what they return or throw. Iterators are read to their end. */
  <R> void both(final String what, final Function<S, R> call) {
    final long seed = random.nextLong();
    assertEquals(outcome(stores.get(false), call, seed), outcome(stores.get(true), call, seed), what);
  }

  /** What both have open at the same time: searches that take turns. */
  <R extends KeyValueIterator<?, ?>> void turns(final String what, final Function<S, R> one, final Function<S, R> other) {
    final List<List<String>> found = new ArrayList<>();
    for (final boolean protean : List.of(false, true)) {
      final List<String> read = new ArrayList<>();
      try (R first = one.apply(stores.get(protean));
          R second = other.apply(stores.get(protean))) {
        while (first.hasNext() | second.hasNext()) {
          for (final R iterator : List.of(first, second)) {
            if (iterator.hasNext()) {
              read.add(String.valueOf(iterator.next()));
            }
          }
        }
      } catch (final RuntimeException e) {
        read.add(e.getClass().getName());
      }
      found.add(read);
    }
    assertEquals(found.get(0), found.get(1), what);
  }

  /** Sets the time and the offset of the record that is written. */
  void at(final long time, final long offset) {
    contexts
        .values()
        .forEach(
            context ->
                context.setRecordContext(
                    new ProcessorRecordContext(
                        time, offset, 0, "topic", new RecordHeaders())));
  }

  void commit() {
    stores.values().forEach(StorePair::commit);
  }

  /** Commits a store, as Kafka does from time to time. Before 4.3, this writes SST files. */
  @SuppressWarnings("deprecation")
  static void commit(final StateStore store) {
    if (store instanceof CachedStateStore<?, ?> cached) {
      cached.flushCache();
    }
    try {
      store.commit(Map.of());
    } catch (final NoSuchMethodError e) {
      store.flush(); // Kafka before 4.3.
    }
  }

  void reopen() {
    commit();
    searches = searches();
    denied = denied();
    stores.values().forEach(StateStore::close);
    open();
  }

  private long metric(final String name) {
    return contexts.get(true).metrics().metrics().entrySet().stream()
        .filter(metric -> metric.getKey().group().equals(StoreMetrics.GROUP) && metric.getKey().name().equals(name))
        .mapToLong(metric -> ((Double) metric.getValue().metricValue()).longValue())
        .sum();
  }

  private static <S, R> Object outcome(final S store, final Function<S, R> call, final long seed) {
    try {
      return read(call.apply(store), new Random(seed));
    } catch (final ConfigException | AssertionError e) {
      throw e;
    } catch (final RuntimeException e) {
      return e.getClass().getName() + ": " + e.getMessage();
    }
  }

  /** Asks what comes next in all ways. */
  private static Object read(final Object result, final Random random) {
    if (result instanceof QueryResult<?> query) {
      return query.isSuccess() ? read(query.getResult(), random) : query.getFailureReason() + ": " + query.getPosition();
    }
    if (!(result instanceof KeyValueIterator<?, ?> iterator)) {
      return String.valueOf(result);
    }
    final List<String> read = new ArrayList<>();
    try (iterator) {
      while (true) {
        if (random.nextInt(3) != 0 && !iterator.hasNext()) {
          return read;
        }
        try {
          if (random.nextInt(3) == 0) {
            read.add("next " + iterator.peekNextKey());
          }
          read.add(String.valueOf(iterator.next()));
        } catch (final NoSuchElementException e) {
          return read;
        }
      }
    }
  }

  @Override
  public void close() {
    stores.values().forEach(StateStore::close);
    delete(folder);
  }

  static void delete(final Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    } catch (final IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
