// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.time.Instant;
import java.util.Optional;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * A window store whose searches of keys end where the keys do. Kafka recognizes stores with timestamps and headers by
 * marker interfaces, which the subclasses have. The interface's default methods with {@code Instant}s call these methods.
 */
class BoundedWindowStore extends BoundedStore<WindowStore<Bytes, byte[]>> implements WindowStore<Bytes, byte[]> {
  BoundedWindowStore(final WindowStore<Bytes, byte[]> inner) {
    super(inner);
  }

  /** A window store with timestamps. */
  static final class Timestamped extends BoundedWindowStore implements TimestampedBytesStore {
    Timestamped(final WindowStore<Bytes, byte[]> inner) {
      super(inner);
    }
  }

  /** A window store with timestamps and headers, which Kafka has had since 4.3. */
  static final class WithHeaders extends BoundedWindowStore implements TimestampedBytesStore, HeadersBytesStore {
    WithHeaders(final WindowStore<Bytes, byte[]> inner) {
      super(inner);
    }
  }

  @Override
  public void put(final Bytes key, final byte[] value, final long windowStartTimestamp) {
    inner.put(key, value, windowStartTimestamp);
  }

  @Override
  public byte[] fetch(final Bytes key, final long time) {
    return inner.fetch(key, time);
  }

  @Override
  public WindowStoreIterator<byte[]> fetch(final Bytes key, final long timeFrom, final long timeTo) {
    return find(KeyRange.windows(key, timeFrom, timeTo), () -> inner.fetch(key, timeFrom, timeTo));
  }

  @Override
  public WindowStoreIterator<byte[]> backwardFetch(final Bytes key, final long timeFrom, final long timeTo) {
    return find(KeyRange.windows(key, timeFrom, timeTo), () -> inner.backwardFetch(key, timeFrom, timeTo));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      final Bytes keyFrom, final Bytes keyTo, final long timeFrom, final long timeTo) {
    return find(KeyRange.windows(keyFrom, keyTo, timeTo), () -> inner.fetch(keyFrom, keyTo, timeFrom, timeTo));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      final Bytes keyFrom, final Bytes keyTo, final long timeFrom, final long timeTo) {
    return find(KeyRange.windows(keyFrom, keyTo, timeTo), () -> inner.backwardFetch(keyFrom, keyTo, timeFrom, timeTo));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
    return inner.all();
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
    return inner.backwardAll();
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(final long timeFrom, final long timeTo) {
    return inner.fetchAll(timeFrom, timeTo);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(final long timeFrom, final long timeTo) {
    return inner.backwardFetchAll(timeFrom, timeTo);
  }

  @Override
  final KeyRange rangeOf(final Query<?> query) {
    if (!(query instanceof WindowKeyQuery<?, ?> windows) || !(windows.getKey() instanceof Bytes key)) {
      return null;
    }
    final Optional<Instant> from = windows.getTimeFrom();
    final Optional<Instant> to = windows.getTimeTo();
    if (from.isEmpty() || to.isEmpty()) {
      return null;
    }
    try {
      return KeyRange.windows(key, from.get().toEpochMilli(), to.get().toEpochMilli());
    } catch (final ArithmeticException e) {
      return null; // The store refuses such times.
    }
  }
}
