// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofMillis;

import java.time.Instant;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Window stores with and without bounds, called at random. */
class WindowStoreDifferentialTest {
  private static final String PADDING = ".".repeat(100);
  private static final int STEPS = Integer.getInteger("protean.test.steps", 800);
  private static final long RETENTION = 120_000;

  @ParameterizedTest
  @CsvSource({
    "1, false, false, false, proteus:12", "2, true, false, false, proteus:12", "3, false, true, true, surf:0:4",
    "4, true, true, false, proteus:12", "5, false, false, true, surf:0:8", "6, false, false, false, nullptr",
    "7, false, true, false, {id=protean.Proteus;bits_per_key=14;sample_every=1}"
  })
  void plain(
      final long seed, final boolean duplicates, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.windowStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentWindowStore("windows", ofMillis(RETENTION), ofMillis(1_000), duplicates),
        (value, time) -> value,
        caching,
        logging,
        policy);
  }

  @ParameterizedTest
  @CsvSource({
    "1, false, false, false, proteus:12", "2, true, false, true, proteus:12", "3, false, true, true, surf:0:4",
    "4, false, true, false, proteus:12"
  })
  void timestamped(
      final long seed, final boolean duplicates, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedWindowStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentTimestampedWindowStore("windows", ofMillis(RETENTION), ofMillis(1_000), duplicates),
        ValueAndTimestamp::make,
        caching,
        logging,
        policy);
  }

  @ParameterizedTest
  @CsvSource({"1, false, false, false, proteus:12", "2, false, true, true, surf:0:4"})
  void timestampedOverPlain(
      final long seed, final boolean duplicates, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedWindowStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentWindowStore("windows", ofMillis(RETENTION), ofMillis(1_000), duplicates),
        ValueAndTimestamp::make,
        caching,
        logging,
        policy);
  }

  @Tag("headers")
  @ParameterizedTest
  @CsvSource({"1, false, false, false, proteus:12", "2, false, true, true, surf:0:4", "3, true, false, true, proteus:12"})
  void withHeaders(
      final long seed, final boolean duplicates, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.timestampedWindowStoreWithHeadersBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentTimestampedWindowStoreWithHeaders("windows", ofMillis(RETENTION), ofMillis(1_000), duplicates),
        (value, time) -> ValueTimestampHeaders.make(value, time, new RecordHeaders()),
        caching,
        logging,
        policy);
  }

  private <V, S extends WindowStore<Bytes, V>> void run(
      final long seed,
      final Function<WindowBytesStoreSupplier, StoreBuilder<S>> stores,
      final WindowBytesStoreSupplier supplier,
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
        (pair, step, now) -> step(pair, step, now, value, caching));
  }

  private <V, S extends WindowStore<Bytes, V>> long step(
      final StorePair<S> pair,
      final int step,
      final long before,
      final BiFunction<String, Long, V> value,
      final boolean caching) {
    final Random random = pair.random();
    final Bytes key = TestData.key(random);
    final Bytes other = random.nextInt(8) == 0 ? null : TestData.key(random);
    final Bytes another = random.nextInt(8) == 0 ? null : TestData.key(random);
    final long now = before + random.nextInt(200);
    final long from = time(random, now);
    final long to = random.nextBoolean() ? time(random, now) : from + random.nextInt(20_000);
    final String what = "step " + step + ", " + key + ", [" + other + ", " + another + "], [" + from + ", " + to + "]";
    switch (random.nextInt(22)) {
      case 0, 1, 2, 3, 4, 5 -> {
        final long start = random.nextInt(40) == 0 ? time(random, now) : Math.max(0, now - random.nextInt(30_000));
        // A window in the far future would be the end of all others, and Kafka's caches fail over negative times.
        final long kept = start > now + 1_000_000 || (caching && start < 0) ? now : start;
        final V stored = random.nextInt(8) == 0 ? null : value.apply("v" + step + PADDING, Math.max(0, kept));
        pair.at(Math.max(0, kept), step);
        pair.both(what, store -> {
          store.put(key, stored, kept);
          return null;
        });
      }
      case 6 -> pair.both(what, store -> store.fetch(key, from));
      case 7, 8 -> pair.both(what, store -> store.fetch(key, from, to));
      case 9, 10 -> pair.both(what, store -> store.backwardFetch(key, from, to));
      case 11, 12 -> pair.both(what, store -> store.fetch(other, another, from, to));
      case 13, 14 -> pair.both(what, store -> store.backwardFetch(other, another, from, to));
      case 15 -> pair.both(what, WindowStore::all);
      case 16 -> pair.both(what, WindowStore::backwardAll);
      case 17 -> pair.both(what, store -> store.fetchAll(from, to));
      case 18 -> pair.both(what, store -> store.backwardFetchAll(from, to));
      case 19 -> {
        pair.turns(what, store -> store.fetch(key, from, to), store -> store.backwardFetch(key, 0, Long.MAX_VALUE));
        pair.turns(
            what, store -> store.fetch(other, another, from, to), store -> store.backwardFetch(other, key, 0, to));
      }
      case 20 -> {
        final WindowKeyQuery<Bytes, V> ofKey =
            WindowKeyQuery.withKeyAndWindowStartRange(key, Instant.ofEpochMilli(from), Instant.ofEpochMilli(to));
        pair.both(what, store -> store.query(ofKey, PositionBound.unbounded(), new QueryConfig(false)));
        final WindowRangeQuery<Bytes, V> ofTime =
            WindowRangeQuery.withWindowStartRange(Instant.ofEpochMilli(from), Instant.ofEpochMilli(to));
        pair.both(what, store -> store.query(ofTime, PositionBound.unbounded(), new QueryConfig(false)));
      }
      default -> {
        if (random.nextInt(20) == 0) {
          pair.reopen();
        } else {
          pair.commit();
        }
      }
    }
    return now;
  }

  private static long time(final Random random, final long now) {
    return random.nextInt(4) == 0 ? TestData.anyTime(random) : now - 60_000 + random.nextInt(70_000);
  }
}
