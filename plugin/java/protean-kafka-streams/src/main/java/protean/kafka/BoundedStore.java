// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * The base of the bounded stores. Everything except the end of a search is delegated to the wrapped store; as thread-safe
 * as that store.
 */
abstract class BoundedStore<S extends StateStore> implements StateStore {
  /** The wrapped store. */
  final S inner;

  /** Runs this store's searches. */
  final BoundedSearch search = new BoundedSearch();

  BoundedStore(final S inner) {
    this.inner = inner;
  }

  /** The keys that a query will look at; null if that is unknown. */
  abstract KeyRange rangeOf(Query<?> query);

  /** Wraps the iterator that a search or a query of {@code range} has returned, if it is one, in one of the same kind. */
  Object bounded(final Object result, final KeyRange range) {
    if (result instanceof WindowStoreIterator<?> windows) {
      return new BoundedIterator.OfWindows<>(windows, search, range);
    }
    return result instanceof KeyValueIterator<?, ?> records ? new BoundedIterator<>(records, search, range) : result;
  }

  /** Searches within a range; null: everywhere. */
  @SuppressWarnings("unchecked")
  final <I> I find(final KeyRange range, final Supplier<I> call) {
    final I found = search.within(range, call);
    return range == null ? found : (I) bounded(found, range);
  }

  /** The folder in which Kafka keeps the RocksDBs of this store. The folder of a segmented store is named after it. */
  Path folder(final Path stateDir) {
    return stateDir.resolve(name());
  }

  @Override
  public final void init(final StateStoreContext context, final StateStore root) {
    // This comes first, since it refuses wrong properties.
    search.open(inner.name(), context, folder(context.stateDir().getAbsoluteFile().toPath()));
    try {
      inner.init(context, root);
    } catch (final RuntimeException | Error e) {
      search.close(); // Kafka does not close a store that it could not open.
      throw e;
    }
  }

  @Override
  public final void close() {
    try {
      search.close();
    } finally {
      inner.close();
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public final <R> QueryResult<R> query(
      final Query<R> query, final PositionBound bound, final QueryConfig config) {
    final KeyRange range = rangeOf(query);
    final QueryResult<R> result = search.within(range, () -> inner.query(query, bound, config));
    if (range == null || !result.isSuccess()) {
      return result;
    }
    final QueryResult<R> wrapped = QueryResult.forResult((R) bounded(result.getResult(), range));
    result.getExecutionInfo().forEach(wrapped::addExecutionInfo);
    wrapped.setPosition(result.getPosition());
    return wrapped;
  }

  @Override
  public final String name() {
    return inner.name();
  }

  @Override
  public final boolean persistent() {
    return inner.persistent();
  }

  @Override
  public final boolean isOpen() {
    return inner.isOpen();
  }

  @Override
  public final Position getPosition() {
    return inner.getPosition();
  }

  /** Called by Kafka before 4.3 to commit a store. */
  @Override
  @Deprecated
  public final void flush() {
    inner.flush();
  }

  /** Called by Kafka since 4.3 to commit a store. */
  @Override
  public final void commit(final Map<TopicPartition, Long> changelogOffsets) {
    inner.commit(changelogOffsets);
  }

  @Override
  public final Long committedOffset(final TopicPartition partition) {
    return inner.committedOffset(partition);
  }

  @Override
  @Deprecated
  public final boolean managesOffsets() {
    return inner.managesOffsets();
  }
}
