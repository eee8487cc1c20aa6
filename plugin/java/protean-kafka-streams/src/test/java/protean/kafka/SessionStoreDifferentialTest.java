// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofMillis;

import java.time.Instant;
import java.util.Random;
import java.util.function.Function;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.AggregationWithHeaders;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Session stores with and without bounds, called at random. */
class SessionStoreDifferentialTest {
  private static final String PADDING = ".".repeat(100);
  private static final int STEPS = Integer.getInteger("protean.test.steps", 800);
  private static final long RETENTION = 120_000;

  @ParameterizedTest
  @CsvSource({
    "1, false, false, proteus:12", "2, false, true, surf:0:4", "3, true, false, proteus:12", "4, true, true, surf:0:8",
    "5, false, false, nullptr", "6, false, false, {id=protean.Proteus;bits_per_key=14;sample_every=1}"
  })
  void plain(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.sessionStoreBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentSessionStore("sessions", ofMillis(RETENTION)),
        value -> value,
        caching,
        logging,
        policy);
  }

  @Tag("headers")
  @ParameterizedTest
  @CsvSource({"1, false, false, {id=protean.Proteus;bits_per_key=14;sample_every=1}", "2, true, true, surf:0:4"})
  void withHeaders(final long seed, final boolean caching, final boolean logging, final String policy) {
    run(
        seed,
        supplier -> Stores.sessionStoreWithHeadersBuilder(supplier, Serdes.Bytes(), Serdes.String()),
        Stores.persistentSessionStoreWithHeaders("sessions", ofMillis(RETENTION)),
        value -> AggregationWithHeaders.make(value, new RecordHeaders()),
        caching,
        logging,
        policy);
  }

  private <V, S extends SessionStore<Bytes, V>> void run(
      final long seed,
      final Function<SessionBytesStoreSupplier, StoreBuilder<S>> stores,
      final SessionBytesStoreSupplier supplier,
      final Function<String, V> value,
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
        (pair, step, now) -> step(pair, step, now, value));
  }

  private <V, S extends SessionStore<Bytes, V>> long step(
      final StorePair<S> pair, final int step, final long before, final Function<String, V> value) {
    final Random random = pair.random();
    final Bytes key = TestData.key(random);
    final Bytes other = random.nextInt(8) == 0 ? null : TestData.key(random);
    final Bytes another = random.nextInt(8) == 0 ? null : TestData.key(random);
    final long now = before + random.nextInt(200);
    final long end = time(random, now);
    final long start = random.nextBoolean() ? time(random, now) : end + random.nextInt(20_000);
    final String what = "step " + step + ", " + key + ", [" + other + ", " + another + "], " + end + ", " + start;
    switch (random.nextInt(24)) {
      case 0, 1, 2, 3, 4, 5 -> {
        final long first = Math.max(0, now - random.nextInt(30_000));
        final Windowed<Bytes> session = session(key, first, first + random.nextInt(1_000));
        final V stored = random.nextInt(8) == 0 ? null : value.apply("v" + step + PADDING);
        pair.at(first, step);
        pair.both(what, store -> {
          store.put(session, stored);
          return null;
        });
      }
      case 6 -> {
        final long first = Math.max(0, now - random.nextInt(30_000));
        final Windowed<Bytes> session = session(key, first, first + random.nextInt(3));
        pair.at(first, step);
        pair.both(store -> store.remove(session));
      }
      case 7 -> pair.both(what, store -> store.fetchSession(key, end, start));
      case 8, 9 -> pair.both(what, store -> store.findSessions(key, end, start));
      case 10, 11 -> pair.both(what, store -> store.backwardFindSessions(key, end, start));
      case 12, 13 -> pair.both(what, store -> store.findSessions(other, another, end, start));
      case 14, 15 -> pair.both(what, store -> store.backwardFindSessions(other, another, end, start));
      case 16 -> pair.both(what, store -> store.fetch(key));
      case 17 -> pair.both(what, store -> store.backwardFetch(key));
      case 18 -> pair.both(what, store -> store.fetch(other, another));
      case 19 -> pair.both(what, store -> store.backwardFetch(other, another));
      case 20 -> {
        pair.turns(what, store -> store.findSessions(key, end, start), store -> store.backwardFetch(key));
        pair.turns(
            what,
            store -> store.findSessions(other, another, end, start),
            store -> store.backwardFindSessions(key, another, 0, start));
      }
      case 21 -> {
        final WindowRangeQuery<Bytes, V> ofKey = WindowRangeQuery.withKey(key);
        pair.both(what, store -> store.query(ofKey, PositionBound.unbounded(), new QueryConfig(false)));
        pair.both(what, store -> store.findSessions(end, start));
        pair.both(
            what,
            store ->
                store.findSessions(key, Instant.ofEpochMilli(Math.abs(end)), Instant.ofEpochMilli(Math.abs(start))));
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

  private static Windowed<Bytes> session(final Bytes key, final long start, final long end) {
    return new Windowed<>(key, new SessionWindow(start, end));
  }

  private static long time(final Random random, final long now) {
    return random.nextInt(4) == 0 ? TestData.anyTime(random) : now - 60_000 + random.nextInt(70_000);
  }
}
