// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wraps the stores of Kafka Streams whose key layout is known, which are recognized by the names of their non-public
 * classes. All other stores are returned unchanged: in memory, versioned, ordered by time, or an application's own.
 */
final class BoundedStores {
  private static final Logger LOG = LoggerFactory.getLogger(BoundedStores.class);
  private static final String PACKAGE = "org.apache.kafka.streams.state.internals.";

  private BoundedStores() {}

  static WindowStore<Bytes, byte[]> bounded(final WindowStore<Bytes, byte[]> store) {
    return switch (kind(store)) {
      case "RocksDBWindowStore" -> new BoundedWindowStore(store);
      case "RocksDBTimestampedWindowStore" -> new BoundedWindowStore.Timestamped(store);
      case "RocksDBTimestampedWindowStoreWithHeaders" -> new BoundedWindowStore.WithHeaders(store);
      default -> unknown(store);
    };
  }

  static SessionStore<Bytes, byte[]> bounded(final SessionStore<Bytes, byte[]> store) {
    return switch (kind(store)) {
      case "RocksDBSessionStore" -> new BoundedSessionStore(store);
      case "RocksDBSessionStoreWithHeaders" -> new BoundedSessionStore.WithHeaders(store);
      default -> unknown(store);
    };
  }

  static KeyValueStore<Bytes, byte[]> bounded(final KeyValueStore<Bytes, byte[]> store) {
    return switch (kind(store)) {
      case "RocksDBStore" -> new BoundedKeyValueStore(store);
      case "RocksDBTimestampedStore" -> new BoundedKeyValueStore.Timestamped(store);
      case "RocksDBTimestampedStoreWithHeaders" -> new BoundedKeyValueStore.WithHeaders(store);
      default -> unknown(store);
    };
  }

  private static String kind(final StateStore store) {
    final String name = store.getClass().getName();
    return name.startsWith(PACKAGE) ? name.substring(PACKAGE.length()) : "";
  }

  private static <S extends StateStore> S unknown(final S store) {
    LOG.debug("Store {} is used as it is: the searches of a {} have no bounds", store.name(), store.getClass().getName());
    return store;
  }
}
