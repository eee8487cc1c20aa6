// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;

/**
 * A key-value store whose range reads and prefix scans end at their bounds. Its iterators seek when they are created, so
 * they need no wrapper.
 */
class BoundedKeyValueStore extends BoundedStore<KeyValueStore<Bytes, byte[]>> implements KeyValueStore<Bytes, byte[]> {
  BoundedKeyValueStore(final KeyValueStore<Bytes, byte[]> inner) {
    super(inner);
  }

  /** A key-value store with timestamps. */
  static final class Timestamped extends BoundedKeyValueStore implements TimestampedBytesStore {
    Timestamped(final KeyValueStore<Bytes, byte[]> inner) {
      super(inner);
    }
  }

  /** A key-value store with timestamps and headers, which Kafka has had since 4.3. */
  static final class WithHeaders extends BoundedKeyValueStore implements HeadersBytesStore {
    WithHeaders(final KeyValueStore<Bytes, byte[]> inner) {
      super(inner);
    }
  }

  @Override
  public void put(final Bytes key, final byte[] value) {
    inner.put(key, value);
  }

  @Override
  public byte[] putIfAbsent(final Bytes key, final byte[] value) {
    return inner.putIfAbsent(key, value);
  }

  @Override
  public void putAll(final List<KeyValue<Bytes, byte[]>> entries) {
    inner.putAll(entries);
  }

  @Override
  public byte[] delete(final Bytes key) {
    return inner.delete(key);
  }

  @Override
  public byte[] get(final Bytes key) {
    return inner.get(key);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(final Bytes from, final Bytes to) {
    return search.within(KeyRange.keys(from, to), () -> inner.range(from, to));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(final Bytes from, final Bytes to) {
    return search.within(KeyRange.keys(from, to), () -> inner.reverseRange(from, to));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return inner.all();
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return inner.reverseAll();
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      final P prefix, final PS prefixKeySerializer) {
    final byte[] bytes =
        prefix == null || prefixKeySerializer == null ? null : prefixKeySerializer.serialize(null, prefix);
    if (bytes == null) {
      return inner.prefixScan(prefix, prefixKeySerializer);
    }
    // Serialized once: the store gets the bytes.
    return search.within(KeyRange.prefix(bytes), () -> inner.prefixScan(Bytes.wrap(bytes), new BytesSerializer()));
  }

  @Override
  public long approximateNumEntries() {
    return inner.approximateNumEntries();
  }

  @Override
  final Path folder(final Path stateDir) {
    return stateDir.resolve("rocksdb").resolve(name());
  }

  @Override
  final KeyRange rangeOf(final Query<?> query) {
    if (!(query instanceof RangeQuery<?, ?> keys)) {
      return null;
    }
    final Optional<?> from = keys.getLowerBound();
    final Optional<?> to = keys.getUpperBound();
    if (!from.map(Bytes.class::isInstance).orElse(true) || !to.map(Bytes.class::isInstance).orElse(true)) {
      return null;
    }
    return KeyRange.keys((Bytes) from.orElse(null), (Bytes) to.orElse(null));
  }

  @Override
  final Object bounded(final Object result, final KeyRange range) {
    return result;
  }
}
