// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Key-value stores with and without bounds, called at random. */
class KeyValueStoreDifferentialTest {
  private static final String PADDING = ".".repeat(100);
  private static final int STEPS = Integer.getInteger("protean.test.steps", 800);

  @ParameterizedTest
  @CsvSource({
    "1, false, false, proteus:12", "2, false, true, surf:0:4", "3, true, false, proteus:12", "4, true, true, surf:0:8",
    "5, false, false, nullptr", "6, false, false, {id=protean.Proteus;bits_per_key=14;sample_every=1}"
  })
  void plain(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.keyValueStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentKeyValueStore("keys"),
        (value, time) -> value,
        caching,
        logging,
        policy);
  }

  @ParameterizedTest
  @CsvSource({"1, false, false, proteus:12", "2, true, true, surf:0:4"})
  void timestamped(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedKeyValueStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentTimestampedKeyValueStore("keys"),
        ValueAndTimestamp::make,
        caching,
        logging,
        policy);
  }

  @ParameterizedTest
  @CsvSource({"1, false, false, proteus:12", "2, true, true, surf:0:4"})
  void timestampedOverPlain(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedKeyValueStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentKeyValueStore("keys"),
        ValueAndTimestamp::make,
        caching,
        logging,
        policy);
  }

  @Tag("headers")
  @ParameterizedTest
  @CsvSource({"1, false, false, proteus:12", "2, true, true, surf:0:4"})
  void withHeaders(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedKeyValueStoreWithHeadersBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentTimestampedKeyValueStoreWithHeaders("keys"),
        (value, time) -> ValueTimestampHeaders.make(value, time, new RecordHeaders()),
        caching,
        logging,
        policy);
  }

  private <V, S extends KeyValueStore<Bytes, V>> void run(
      final long seed,
      final Function<KeyValueBytesStoreSupplier, StoreBuilder<S>> stores,
      final KeyValueBytesStoreSupplier supplier,
      final BiFunction<String, Long, V> value,
      final boolean caching,
      final boolean logging,
      final String policy) {
    StorePair.walk(
        seed,
        bounded -> stores.apply(bounded ? ProteanStores.bounded(supplier) : supplier),
        caching,
        logging,
        policy,
        STEPS,
        (pair, step, now) -> {
          step(pair, step, value);
          return now;
        });
  }

  private <V, S extends KeyValueStore<Bytes, V>> void step(
      final StorePair<S> pair, final int step, final BiFunction<String, Long, V> value) {
    final Random random = pair.random();
    final Bytes key = TestData.key(random);
    final Bytes from = random.nextInt(8) == 0 ? null : TestData.key(random);
    final Bytes to = random.nextInt(8) == 0 ? null : TestData.key(random);
    final V stored = random.nextInt(8) == 0 ? null : value.apply("v" + step + PADDING, (long) step);
    final String what = "step " + step + ", " + key + ", [" + from + ", " + to + "]";
    pair.at(step, step);
    switch (random.nextInt(24)) {
      case 0, 1, 2, 3 -> pair.both(store -> store.put(key, stored));
      case 4 -> pair.both(what, store -> store.putIfAbsent(key, stored));
      case 5 -> {
        final List<KeyValue<Bytes, V>> entries =
            List.of(KeyValue.pair(key, stored), KeyValue.pair(TestData.key(random), value.apply("w" + step + PADDING, 1L)));
        pair.both(store -> store.putAll(entries));
      }
      case 6 -> pair.both(what, store -> store.delete(key));
      case 7 -> pair.both(what, store -> store.get(key));
      case 8, 9, 10 -> pair.both(what, store -> store.range(from, to));
      case 11, 12, 13 -> pair.both(what, store -> store.reverseRange(from, to));
      case 14, 15 -> pair.both(what, store -> store.prefixScan(key, new BytesSerializer()));
      case 16 -> pair.both(what, store -> store.prefixScan(key.get(), new ByteArraySerializer()));
      case 17 -> pair.both(what, KeyValueStore::all);
      case 18 -> pair.both(what, KeyValueStore::reverseAll);
      case 19 -> {
        pair.turns(what, store -> store.range(from, to), store -> store.reverseRange(from, to));
        pair.turns(
            what, store -> store.prefixScan(key, new BytesSerializer()), store -> store.range(key, to));
      }
      case 20 -> {
        final RangeQuery<Bytes, V> range =
            from == null || to == null ? RangeQuery.withNoBounds() : RangeQuery.withRange(from, to);
        final RangeQuery<Bytes, V> ordered = random.nextBoolean() ? range.withDescendingKeys() : range;
        pair.both(what, store -> store.query(ordered, PositionBound.unbounded(), new QueryConfig(false)));
        final RangeQuery<Bytes, V> open =
            random.nextBoolean() ? RangeQuery.withLowerBound(key) : RangeQuery.withUpperBound(key);
        pair.both(what, store -> store.query(open, PositionBound.unbounded(), new QueryConfig(false)));
        final KeyQuery<Bytes, V> point = KeyQuery.withKey(key);
        pair.both(what, store -> store.query(point, PositionBound.unbounded(), new QueryConfig(false)));
      }
      case 21 -> {
        pair.both(what, store -> store.range(null, null));
        pair.both(what, store -> store.get(null));
        pair.both(what, store -> store.prefixScan(null, new BytesSerializer()));
        pair.both(what, store -> store.<BytesSerializer, Bytes>prefixScan(key, null));
      }
      default -> {
        if (random.nextInt(20) == 0) {
          pair.reopen();
        } else {
          pair.commit();
        }
      }
    }
  }
}
