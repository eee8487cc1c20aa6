// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofMillis;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.internals.MockStreamsMetrics;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What one writes, the other reads: with Protean, switched off, and without. */
class FallbackTest {
  private static final int KEYS = 500;

  @TempDir Path folder;

  private enum Mode {
    PROTEAN,
    OFF,
    STOCK
  }

  private InternalMockProcessorContext<?, ?> context(final Mode mode) {
    final File stateDir = folder.toFile();
    if (mode != Mode.STOCK) {
      return StorePair.context(
          stateDir, StorePair.SmallFiles.class, Map.of("protean.enabled", String.valueOf(mode == Mode.PROTEAN)));
    }
    final Map<String, Object> config = new HashMap<>();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    return new InternalMockProcessorContext<>(
        stateDir,
        Serdes.Bytes(),
        Serdes.String(),
        new MockStreamsMetrics(new Metrics()),
        new StreamsConfig(config),
        null,
        null,
        Time.SYSTEM);
  }

  private static Bytes key(final int number) {
    return Bytes.wrap(String.format("key%06d", number).getBytes(StandardCharsets.UTF_8));
  }

  private static int count(final KeyValueIterator<?, ?> iterator) {
    int found = 0;
    try (iterator) {
      while (iterator.hasNext()) {
        iterator.next();
        ++found;
      }
    }
    return found;
  }

  private static List<Mode> allTurns() {
    final List<Mode> turns = new ArrayList<>();
    for (final Mode one : Mode.values()) {
      for (final Mode other : Mode.values()) {
        turns.addAll(List.of(one, other));
      }
    }
    return turns;
  }

  @Test
  void windows() {
    int turn = 0;
    for (final Mode mode : allTurns()) {
      final WindowBytesStoreSupplier stock =
          Stores.persistentWindowStore("store", ofMillis(1_000_000), ofMillis(1_000), false);
      final WindowStore<Bytes, byte[]> store = (mode == Mode.STOCK ? stock : ProteanStores.bounded(stock)).get();
      store.init(context(mode), store);
      for (int i = 0; i < KEYS; ++i) {
        assertEquals(turn, count(store.fetch(key(i), 0, 1_000_000)), mode + " " + turn);
      }
      assertEquals(turn * KEYS, count(store.fetch(key(0), key(KEYS), 0, 1_000_000)));
      for (int i = 0; i < KEYS; ++i) {
        store.put(key(i), new byte[20], turn);
      }
      StorePair.commit(store);
      ++turn;
      for (int i = 0; i < KEYS; ++i) {
        assertEquals(turn, count(store.backwardFetch(key(i), 0, 1_000_000)), mode + " " + turn);
        assertEquals(0, count(store.fetch(Bytes.wrap(Arrays.copyOf(key(i).get(), 10)), 0, 1_000_000)));
      }
      store.close();
    }
  }

  @Test
  void keyValues() {
    int turn = 0;
    for (final Mode mode : allTurns()) {
      final KeyValueBytesStoreSupplier stock = Stores.persistentTimestampedKeyValueStore("store");
      final KeyValueStore<Bytes, byte[]> store = (mode == Mode.STOCK ? stock : ProteanStores.bounded(stock)).get();
      store.init(context(mode), store);
      for (int i = 0; i < turn * KEYS; i += 50) {
        assertEquals(50, count(store.range(key(i), key(i + 49))), mode + " " + turn);
        assertEquals(50, count(store.reverseRange(key(i), key(i + 49))), mode + " " + turn);
      }
      for (int i = turn * KEYS; i < (turn + 1) * KEYS; ++i) {
        store.put(key(i), new byte[20]);
      }
      StorePair.commit(store);
      ++turn;
      assertEquals(turn * KEYS, count(store.all()), mode + " " + turn);
      assertEquals(0, count(store.range(key(turn * KEYS), key(turn * KEYS + 100))));
      store.close();
    }
  }
}
