// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;

/**
 * A session store whose searches of keys end where the keys do. The interface's default methods with {@code Instant}s call
 * these methods.
 */
class BoundedSessionStore extends BoundedStore<SessionStore<Bytes, byte[]>> implements SessionStore<Bytes, byte[]> {
  BoundedSessionStore(final SessionStore<Bytes, byte[]> inner) {
    super(inner);
  }

  /** A session store with headers, which Kafka has had since 4.3. */
  static final class WithHeaders extends BoundedSessionStore implements HeadersBytesStore {
    WithHeaders(final SessionStore<Bytes, byte[]> inner) {
      super(inner);
    }
  }

  @Override
  public void put(final Windowed<Bytes> sessionKey, final byte[] aggregate) {
    inner.put(sessionKey, aggregate);
  }

  @Override
  public void remove(final Windowed<Bytes> sessionKey) {
    inner.remove(sessionKey);
  }

  @Override
  public byte[] fetchSession(final Bytes key, final long sessionStartTime, final long sessionEndTime) {
    return inner.fetchSession(key, sessionStartTime, sessionEndTime);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      final long earliestSessionEndTime, final long latestSessionEndTime) {
    return inner.findSessions(earliestSessionEndTime, latestSessionEndTime);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      final Bytes key, final long earliestSessionEndTime, final long latestSessionStartTime) {
    return find(
        KeyRange.sessions(key, earliestSessionEndTime, latestSessionStartTime),
        () -> inner.findSessions(key, earliestSessionEndTime, latestSessionStartTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      final Bytes key, final long earliestSessionEndTime, final long latestSessionStartTime) {
    return find(
        KeyRange.sessions(key, earliestSessionEndTime, latestSessionStartTime),
        () -> inner.backwardFindSessions(key, earliestSessionEndTime, latestSessionStartTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      final Bytes keyFrom, final Bytes keyTo, final long earliestSessionEndTime, final long latestSessionStartTime) {
    return find(
        KeyRange.sessions(keyFrom, keyTo, latestSessionStartTime),
        () -> inner.findSessions(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      final Bytes keyFrom, final Bytes keyTo, final long earliestSessionEndTime, final long latestSessionStartTime) {
    return find(
        KeyRange.sessions(keyFrom, keyTo, latestSessionStartTime),
        () -> inner.backwardFindSessions(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(final Bytes key) {
    return find(allOf(key), () -> inner.fetch(key));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(final Bytes key) {
    return find(allOf(key), () -> inner.backwardFetch(key));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(final Bytes keyFrom, final Bytes keyTo) {
    return find(KeyRange.sessions(keyFrom, keyTo, Long.MAX_VALUE), () -> inner.fetch(keyFrom, keyTo));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(final Bytes keyFrom, final Bytes keyTo) {
    return find(KeyRange.sessions(keyFrom, keyTo, Long.MAX_VALUE), () -> inner.backwardFetch(keyFrom, keyTo));
  }

  @Override
  final KeyRange rangeOf(final Query<?> query) {
    return query instanceof WindowRangeQuery<?, ?> sessions
            && sessions.getKey().isPresent()
            && sessions.getKey().get() instanceof Bytes key
        ? allOf(key)
        : null;
  }

  private static KeyRange allOf(final Bytes key) {
    return KeyRange.sessions(key, 0, Long.MAX_VALUE);
  }
}
