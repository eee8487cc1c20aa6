// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.UnaryOperator;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.StoreSupplier;

/** Suppliers of bounded stores, with the marker interface of the suppliers that they wrap. */
final class BoundedSuppliers {
  private BoundedSuppliers() {}

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
        Proxy.newProxyInstance(BoundedSuppliers.class.getClassLoader(), types, new Wrapper<>(supplier, bound)));
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
