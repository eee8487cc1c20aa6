// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreSupplier;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/** Suppliers of bounded stores, with the marker interfaces of the suppliers that they wrap. */
final class BoundedSuppliers {
  private BoundedSuppliers() {}

  static WindowBytesStoreSupplier bounded(final WindowBytesStoreSupplier supplier) {
    if (supplier instanceof Windows) {
      return supplier;
    }
    return hasHeaders(supplier) ? new WindowsWithHeaders(supplier) : new Windows(supplier);
  }

  static SessionBytesStoreSupplier bounded(final SessionBytesStoreSupplier supplier) {
    if (supplier instanceof Sessions) {
      return supplier;
    }
    return hasHeaders(supplier) ? new SessionsWithHeaders(supplier) : new Sessions(supplier);
  }

  static KeyValueBytesStoreSupplier bounded(final KeyValueBytesStoreSupplier supplier) {
    if (supplier instanceof KeyValues || supplier instanceof VersionedBytesStoreSupplier) {
      return supplier;
    }
    return hasHeaders(supplier) ? new KeyValuesWithHeaders(supplier) : new KeyValues(supplier);
  }

  private static boolean hasHeaders(final Object supplier) {
    try {
      return supplier instanceof HeadersBytesStoreSupplier;
    } catch (final NoClassDefFoundError e) {
      return false; // Kafka before 4.3.
    }
  }

  private abstract static class Wrapper<T extends StateStore, S extends StoreSupplier<T>> implements StoreSupplier<T> {
    final S inner;

    Wrapper(final S inner) {
      this.inner = inner;
    }

    @Override
    public String name() {
      return inner.name();
    }

    @Override
    public String metricsScope() {
      return inner.metricsScope();
    }

    @Override
    public String toString() {
      return "bounded " + inner;
    }
  }

  private static class Windows extends Wrapper<WindowStore<Bytes, byte[]>, WindowBytesStoreSupplier>
      implements WindowBytesStoreSupplier {
    Windows(final WindowBytesStoreSupplier inner) {
      super(inner);
    }

    @Override
    public WindowStore<Bytes, byte[]> get() {
      return BoundedStores.bounded(inner.get());
    }

    @Override
    public long segmentIntervalMs() {
      return inner.segmentIntervalMs();
    }

    @Override
    public long windowSize() {
      return inner.windowSize();
    }

    @Override
    public boolean retainDuplicates() {
      return inner.retainDuplicates();
    }

    @Override
    public long retentionPeriod() {
      return inner.retentionPeriod();
    }
  }

  private static final class WindowsWithHeaders extends Windows implements HeadersBytesStoreSupplier {
    WindowsWithHeaders(final WindowBytesStoreSupplier inner) {
      super(inner);
    }
  }

  private static class Sessions extends Wrapper<SessionStore<Bytes, byte[]>, SessionBytesStoreSupplier>
      implements SessionBytesStoreSupplier {
    Sessions(final SessionBytesStoreSupplier inner) {
      super(inner);
    }

    @Override
    public SessionStore<Bytes, byte[]> get() {
      return BoundedStores.bounded(inner.get());
    }

    @Override
    public long segmentIntervalMs() {
      return inner.segmentIntervalMs();
    }

    @Override
    public long retentionPeriod() {
      return inner.retentionPeriod();
    }
  }

  private static final class SessionsWithHeaders extends Sessions implements HeadersBytesStoreSupplier {
    SessionsWithHeaders(final SessionBytesStoreSupplier inner) {
      super(inner);
    }
  }

  private static class KeyValues extends Wrapper<KeyValueStore<Bytes, byte[]>, KeyValueBytesStoreSupplier>
      implements KeyValueBytesStoreSupplier {
    KeyValues(final KeyValueBytesStoreSupplier inner) {
      super(inner);
    }

    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return BoundedStores.bounded(inner.get());
    }
  }

  private static final class KeyValuesWithHeaders extends KeyValues implements HeadersBytesStoreSupplier {
    KeyValuesWithHeaders(final KeyValueBytesStoreSupplier inner) {
      super(inner);
    }
  }
}
