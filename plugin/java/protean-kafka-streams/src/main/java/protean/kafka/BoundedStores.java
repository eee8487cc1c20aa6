// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wraps the stores of Kafka Streams whose key layout is known, which are recognized by the names of their non-public
 * classes. All other stores are returned unchanged: in memory, versioned, ordered by time, or an application's own. The
 * suppliers of bounded stores have the marker interface of the suppliers that they wrap.
 */
final class BoundedStores {
  private static final Logger LOG = LoggerFactory.getLogger(BoundedStores.class);
  private static final String PACKAGE = "org.apache.kafka.streams.state.internals.";

  private BoundedStores() {}

  /**
   * Returns a supplier that says what another one says, but bounds its stores; the same supplier if it does so already.
   *
   * @param type the interface that tells what kind of stores they are
   * @param bound makes a bounded store of one of the stores
   */
  static <T extends StateStore, S extends StoreSupplier<T>> S bounded(
      final S supplier, final Class<S> type, final UnaryOperator<T> bound) {
    if (Proxy.isProxyClass(supplier.getClass()) && Proxy.getInvocationHandler(supplier) instanceof Wrapper) {
      return supplier;
    }
    final Class<?>[] types =
        hasHeaders(supplier) ? new Class<?>[] {type, HeadersBytesStoreSupplier.class} : new Class<?>[] {type};
    return type.cast(
        Proxy.newProxyInstance(BoundedStores.class.getClassLoader(), types, new Wrapper<>(supplier, bound)));
  }

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

  private static boolean hasHeaders(final Object supplier) {
    try {
      return supplier instanceof HeadersBytesStoreSupplier;
    } catch (final NoClassDefFoundError e) {
      return false; // Kafka before 4.3.
    }
  }

  private record Wrapper<T extends StateStore>(StoreSupplier<T> inner, UnaryOperator<T> bound)
      implements InvocationHandler {
    @Override
    public Object invoke(final Object supplier, final Method method, final Object[] arguments) throws Throwable {
      switch (method.getName()) {
        case "get":
          return bound.apply(inner.get());
        case "toString":
          return "bounded " + inner;
        case "equals":
          return supplier == arguments[0];
        default:
          try {
            return method.invoke(inner, arguments);
          } catch (final InvocationTargetException e) {
            throw e.getCause();
          }
      }
    }
  }
}
