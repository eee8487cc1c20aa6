// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Makes Kafka Streams' own persistent stores tell RocksDB where each of their searches ends: {@code
 * ProteanStores.bounded(Stores.persistentWindowStore(...))}.
 *
 * <p>The stores return the same, keep the same data, and write the same files. Use their suppliers with {@code
 * Materialized.as}, {@code StreamJoined.withThisStoreSupplier}, or the builders of {@link Stores}. {@link
 * ProteanDslStoreSuppliers} does so for all stores of a topology. With {@code protean.enabled=false}, they are stock
 * stores.
 *
 * <p>Suppliers may be used by any threads.
 */
public final class ProteanStores {
  private ProteanStores() {}

  /**
   * Bounds the searches of a supplier's stores, if they are persistent ones of {@link Stores}, with timestamps and headers or
   * without. Other stores, such as those in memory, versioned or ordered by time, are supplied as they are.
   *
   * @param supplier of the stores
   * @return a supplier of the same stores with bounds, or the same supplier if it has them already
   */
  public static KeyValueBytesStoreSupplier bounded(final KeyValueBytesStoreSupplier supplier) {
    return supplier instanceof VersionedBytesStoreSupplier
        ? supplier
        : BoundedStores.bounded(supplier, KeyValueBytesStoreSupplier.class, BoundedStores::bounded);
  }

  /**
   * {@return a supplier of window stores with bounds, as {@link #bounded(KeyValueBytesStoreSupplier)}}
   *
   * @param supplier of the stores
   */
  public static WindowBytesStoreSupplier bounded(final WindowBytesStoreSupplier supplier) {
    return BoundedStores.bounded(supplier, WindowBytesStoreSupplier.class, BoundedStores::bounded);
  }

  /**
   * {@return a supplier of session stores with bounds, as {@link #bounded(KeyValueBytesStoreSupplier)}}
   *
   * @param supplier of the stores
   */
  public static SessionBytesStoreSupplier bounded(final SessionBytesStoreSupplier supplier) {
    return BoundedStores.bounded(supplier, SessionBytesStoreSupplier.class, BoundedStores::bounded);
  }
}
