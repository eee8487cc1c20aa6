// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.time.Duration;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Suppliers of Kafka Streams' own persistent stores, which tell RocksDB where each of their searches ends.
 *
 * <p>The methods correspond to those of {@link Stores} whose names begin with {@code persistent}, with the same parameters
 * and exceptions; the stores return the same, keep the same data, and write the same files. Use them with {@code
 * Materialized.as}, {@code StreamJoined.withThisStoreSupplier}, or the builders of {@link Stores}. {@link
 * ProteanDslStoreSuppliers} does so for all stores of a topology. With {@code protean.enabled=false}, they are stock
 * stores.
 *
 * <p>Suppliers may be used by any threads.
 */
public final class ProteanStores {
  private ProteanStores() {}

  /**
   * A key-value store.
   *
   * @param name the store's name
   * @return its supplier
   * @see Stores#persistentKeyValueStore
   */
  public static KeyValueBytesStoreSupplier keyValueStore(final String name) {
    return bounded(Stores.persistentKeyValueStore(name));
  }

  /**
   * A key-value store with timestamps.
   *
   * @param name the store's name
   * @return its supplier
   * @see Stores#persistentTimestampedKeyValueStore
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(final String name) {
    return bounded(Stores.persistentTimestampedKeyValueStore(name));
  }

  /**
   * A key-value store with timestamps and headers. Needs Kafka 4.3.
   *
   * @param name the store's name
   * @return its supplier
   * @see Stores#persistentTimestampedKeyValueStoreWithHeaders
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStoreWithHeaders(final String name) {
    return bounded(Stores.persistentTimestampedKeyValueStoreWithHeaders(name));
  }

  /**
   * A window store.
   *
   * @param name the store's name
   * @param retentionPeriod how long windows are kept
   * @param windowSize the size of a window
   * @param retainDuplicates whether records of the same key and time are kept beside each other, as joins need
   * @return its supplier
   * @see Stores#persistentWindowStore
   */
  public static WindowBytesStoreSupplier windowStore(
      final String name, final Duration retentionPeriod, final Duration windowSize, final boolean retainDuplicates) {
    return bounded(Stores.persistentWindowStore(name, retentionPeriod, windowSize, retainDuplicates));
  }

  /**
   * A window store with timestamps.
   *
   * @param name the store's name
   * @param retentionPeriod how long windows are kept
   * @param windowSize the size of a window
   * @param retainDuplicates whether records of the same key and time are kept beside each other
   * @return its supplier
   * @see Stores#persistentTimestampedWindowStore
   */
  public static WindowBytesStoreSupplier timestampedWindowStore(
      final String name, final Duration retentionPeriod, final Duration windowSize, final boolean retainDuplicates) {
    return bounded(Stores.persistentTimestampedWindowStore(name, retentionPeriod, windowSize, retainDuplicates));
  }

  /**
   * A window store with timestamps and headers. Needs Kafka 4.3.
   *
   * @param name the store's name
   * @param retentionPeriod how long windows are kept
   * @param windowSize the size of a window
   * @param retainDuplicates whether records of the same key and time are kept beside each other
   * @return its supplier
   * @see Stores#persistentTimestampedWindowStoreWithHeaders
   */
  public static WindowBytesStoreSupplier timestampedWindowStoreWithHeaders(
      final String name, final Duration retentionPeriod, final Duration windowSize, final boolean retainDuplicates) {
    return bounded(
        Stores.persistentTimestampedWindowStoreWithHeaders(name, retentionPeriod, windowSize, retainDuplicates));
  }

  /**
   * A session store.
   *
   * @param name the store's name
   * @param retentionPeriod how long sessions are kept
   * @return its supplier
   * @see Stores#persistentSessionStore
   */
  public static SessionBytesStoreSupplier sessionStore(final String name, final Duration retentionPeriod) {
    return bounded(Stores.persistentSessionStore(name, retentionPeriod));
  }

  /**
   * A session store with headers. Needs Kafka 4.3.
   *
   * @param name the store's name
   * @param retentionPeriod how long sessions are kept
   * @return its supplier
   * @see Stores#persistentSessionStoreWithHeaders
   */
  public static SessionBytesStoreSupplier sessionStoreWithHeaders(final String name, final Duration retentionPeriod) {
    return bounded(Stores.persistentSessionStoreWithHeaders(name, retentionPeriod));
  }

  /**
   * Bounds the searches of another supplier's stores, if they are of one of the kinds above. Other stores, such as those in
   * memory or ordered by time, are supplied as they are.
   *
   * @param supplier of the stores
   * @return a supplier of the same stores with bounds, or the same supplier if it has them already
   */
  public static KeyValueBytesStoreSupplier bounded(final KeyValueBytesStoreSupplier supplier) {
    return supplier instanceof VersionedBytesStoreSupplier
        ? supplier
        : BoundedSuppliers.bounded(supplier, KeyValueBytesStoreSupplier.class, BoundedStores::bounded);
  }

  /**
   * Does for window stores what {@link #bounded(KeyValueBytesStoreSupplier)} does.
   *
   * @param supplier of the stores
   * @return a supplier of the same stores with bounds, or the same supplier if it has them already
   */
  public static WindowBytesStoreSupplier bounded(final WindowBytesStoreSupplier supplier) {
    return BoundedSuppliers.bounded(supplier, WindowBytesStoreSupplier.class, BoundedStores::bounded);
  }

  /**
   * Does for session stores what {@link #bounded(KeyValueBytesStoreSupplier)} does.
   *
   * @param supplier of the stores
   * @return a supplier of the same stores with bounds, or the same supplier if it has them already
   */
  public static SessionBytesStoreSupplier bounded(final SessionBytesStoreSupplier supplier) {
    return BoundedSuppliers.bounded(supplier, SessionBytesStoreSupplier.class, BoundedStores::bounded);
  }
}
