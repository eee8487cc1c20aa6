// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.function.Supplier;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;
import protean.rocksjava.SearchBounds.Scope;

/**
 * An iterator over the segments of a store. It opens one segment after the other, and seeks in it, within {@code hasNext};
 * so the bounds are set for that call. Not thread-safe, like the wrapped iterator.
 */
class BoundedIterator<K, V> implements KeyValueIterator<K, V> {
  private final KeyValueIterator<K, V> inner;
  private final BoundedSearch search;
  private final KeyRange range;
  // The inner iterator is positioned at a record.
  private boolean ready;

  BoundedIterator(final KeyValueIterator<K, V> inner, final BoundedSearch search, final KeyRange range) {
    this.inner = inner;
    this.search = search;
    this.range = range;
  }

  /** A bounded iterator over the values of one key. */
  static final class OfWindows<V> extends BoundedIterator<Long, V> implements WindowStoreIterator<V> {
    OfWindows(final WindowStoreIterator<V> inner, final BoundedSearch search, final KeyRange range) {
      super(inner, search, range);
    }
  }

  @Override
  public boolean hasNext() {
    ready = within(range, inner::hasNext);
    return ready;
  }

  @Override
  public K peekNextKey() {
    return within(ready ? null : range, inner::peekNextKey);
  }

  @Override
  public KeyValue<K, V> next() {
    final KeyValue<K, V> next = within(ready ? null : range, inner::next);
    ready = false;
    return next;
  }

  @SuppressWarnings("try") // the scope is there to be closed
  private <T> T within(final KeyRange bounds, final Supplier<T> call) {
    try (Scope scope = search.enter(bounds)) {
      return call.get();
    }
  }

  @Override
  public void remove() {
    inner.remove();
  }

  @Override
  public void close() {
    inner.close();
  }
}
