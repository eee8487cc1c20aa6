// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Bounds for the seeks of a thread, for callers that cannot set {@code ReadOptions}.
 *
 * <p>An engine that hides RocksDB's iterators, such as a Kafka Streams state store, often seeks without a bound although
 * its caller knows where the search ends. While a {@link Scope} is open, seeks of this thread in a column family with a
 * {@code ProteanTable} end at its bounds, as if {@code ReadOptions.setIterateLowerBound} and {@code setIterateUpperBound}
 * had been called: a file with no key in the range is not read. Iterators that have bounds of their own keep them.
 *
 * <p>Outside of the bounds, the keys of an iterator are in order, but incomplete. So these bounds are for callers that look
 * at nothing outside of them, and whose seeks begin within them: at a key from {@code lower} to {@code upper}, or at the
 * first or last key. A seek to another key ignores the bounds. {@code seekToFirst} and {@code seekToLast} go to the first
 * and the last key of the column family, even if it is outside of the bounds: unlike bounds in {@code ReadOptions}, these do
 * not move it. So with an upper bound, the last key of the range is found by {@code seekForPrev(upper)}, and with a lower
 * bound, the first one by {@code seek(lower)}. No other iterator may be stepped in between, since RocksDB
 * may seek in a step. {@code plugin/search_bounds.h} is the same for C++, with more detail.
 */
public final class SearchBounds {
  private static final MethodHandle IS_VIRTUAL = findIsVirtual(); // null in a Java VM without virtual threads, before 21

  private SearchBounds() {}

  /**
   * Sets the bounds of this thread until the scope is closed, for try-with-resources: bounds that are forgotten would hide
   * keys from later seeks.
   *
   * <pre>{@code
   * try (SearchBounds.Scope bounds = SearchBounds.within(lower, upper)) {
   *   store.seek(lower);
   * }
   * }</pre>
   *
   * @param lower the first key that matters; null for the beginning
   * @param upper the first key behind those that matter; null for the end
   * @return the scope. In a virtual thread, which may go on in another native thread, no bounds are set
   * @throws UnsatisfiedLinkError as {@link Protean#load}; nothing is set then
   */
  public static Scope within(final byte[] lower, final byte[] upper) {
    if (isVirtual()) {
      return new ThreadScope(0);
    }
    Protean.load();
    return new ThreadScope(openScope(lower, upper));
  }

  /** The time for which a thread has bounds. Scopes may be nested: the inner one counts. */
  public interface Scope extends AutoCloseable {
    /** {@return whether the thread has got these bounds: false in a virtual thread, and once this is closed} */
    boolean isSet();

    /**
     * Sets the bounds that the thread had before, or none. Can be called more than once.
     *
     * @throws IllegalStateException in another thread than the one that made the scope; nothing has changed then
     */
    @Override
    void close();
  }

  private static final class ThreadScope implements Scope {
    private final Thread owner = Thread.currentThread();
    private long handle; // 0 without bounds

    ThreadScope(final long handle) {
      this.handle = handle;
    }

    @Override
    public boolean isSet() {
      return handle != 0;
    }

    @Override
    public void close() {
      if (Thread.currentThread() != owner) {
        throw new IllegalStateException("the bounds are those of thread " + owner.getName());
      }
      if (handle != 0) {
        closeScope(handle);
        handle = 0;
      }
    }
  }

  private static boolean isVirtual() {
    try {
      return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (final Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle findIsVirtual() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (final NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  private static native long openScope(byte[] lower, byte[] upper);

  private static native void closeScope(long scope);
}
