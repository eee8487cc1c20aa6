// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ProteanStoresTest {
  @Test
  void storesAreToldByTheirMarkers() {
    assertFalse(ProteanStores.bounded(Stores.persistentKeyValueStore("a")).get() instanceof TimestampedBytesStore);
    assertInstanceOf(
        TimestampedBytesStore.class, ProteanStores.bounded(Stores.persistentTimestampedKeyValueStore("a")).get());
    assertFalse(windows().get() instanceof TimestampedBytesStore);
    assertInstanceOf(
        TimestampedBytesStore.class,
        ProteanStores.bounded(Stores.persistentTimestampedWindowStore("a", ofSeconds(60), ofSeconds(1), false)).get());
  }

  @Tag("headers")
  @Test
  void storesWithHeadersAreToldByTheirMarkers() {
    final KeyValueBytesStoreSupplier keys = ProteanStores.bounded(Stores.persistentTimestampedKeyValueStoreWithHeaders("a"));
    final WindowBytesStoreSupplier windows =
        ProteanStores.bounded(Stores.persistentTimestampedWindowStoreWithHeaders("a", ofSeconds(60), ofSeconds(1), false));
    final SessionBytesStoreSupplier sessions =
        ProteanStores.bounded(Stores.persistentSessionStoreWithHeaders("a", ofSeconds(60)));
    assertInstanceOf(BoundedKeyValueStore.WithHeaders.class, keys.get());
    assertInstanceOf(HeadersBytesStore.class, keys.get());
    assertInstanceOf(HeadersBytesStore.class, windows.get());
    assertInstanceOf(TimestampedBytesStore.class, windows.get());
    assertInstanceOf(HeadersBytesStore.class, sessions.get());
    for (final Object supplier : new Object[] {windows, sessions}) {
      assertInstanceOf(HeadersBytesStoreSupplier.class, supplier);
    }
    assertEquals(
        Stores.persistentTimestampedKeyValueStoreWithHeaders("a") instanceof HeadersBytesStoreSupplier,
        keys instanceof HeadersBytesStoreSupplier);
    assertFalse(ProteanStores.bounded(Stores.persistentKeyValueStore("a")) instanceof HeadersBytesStoreSupplier);
  }

  private static WindowBytesStoreSupplier windows() {
    return ProteanStores.bounded(Stores.persistentWindowStore("a", ofSeconds(90), ofSeconds(2), true));
  }

  @Test
  void suppliersTellTheSame() {
    final WindowBytesStoreSupplier stock = Stores.persistentWindowStore("a", ofSeconds(90), ofSeconds(2), true);
    assertEquals(stock.name(), windows().name());
    assertEquals(stock.metricsScope(), windows().metricsScope());
    assertEquals(stock.segmentIntervalMs(), windows().segmentIntervalMs());
    assertEquals(stock.windowSize(), windows().windowSize());
    assertEquals(stock.retentionPeriod(), windows().retentionPeriod());
    assertTrue(windows().retainDuplicates());
    final SessionBytesStoreSupplier sessions = ProteanStores.bounded(Stores.persistentSessionStore("a", ofSeconds(90)));
    assertEquals(
        Stores.persistentSessionStore("a", ofSeconds(90)).segmentIntervalMs(), sessions.segmentIntervalMs());
    assertEquals(90_000, sessions.retentionPeriod());
  }

  @Test
  void whatHasBoundsOrCannotHaveThemStaysAsItIs() {
    final WindowBytesStoreSupplier windows = windows();
    assertSame(windows, ProteanStores.bounded(windows));
    final KeyValueBytesStoreSupplier versioned = Stores.persistentVersionedKeyValueStore("a", ofSeconds(60));
    assertSame(versioned, ProteanStores.bounded(versioned));
    assertFalse(ProteanStores.bounded(Stores.inMemoryKeyValueStore("a")).get() instanceof BoundedStore<?>);
    assertFalse(ProteanStores.bounded(Stores.lruMap("a", 10)).get() instanceof BoundedStore<?>);
    assertFalse(
        ProteanStores.bounded(Stores.inMemorySessionStore("a", ofSeconds(60))).get() instanceof BoundedStore<?>);
    assertFalse(
        ProteanStores.bounded(Stores.inMemoryWindowStore("a", ofSeconds(60), ofSeconds(1), false)).get()
            instanceof BoundedStore<?>);
  }

  /** Before there is a segment whose RocksDB could be given a filter. */
  @Test
  void wrongPropertiesAreRefusedAtOnce() throws IOException {
    final Path folder = Files.createTempDirectory("protean-kafka");
    try {
      final WindowStore<Bytes, byte[]> store = windows().get();
      assertThrows(
          ConfigException.class,
          () ->
              store.init(
                  StorePair.context(folder.toFile(), StorePair.SmallFiles.class, Map.of("protean.typo", "")), store));
    } finally {
      StorePair.delete(folder);
    }
  }
}
