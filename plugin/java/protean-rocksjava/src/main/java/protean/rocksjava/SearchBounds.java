package protean.rocksjava;

/**
 * Where the searches of this thread end, for callers that cannot set {@code ReadOptions}.
 *
 * <p>An engine that hides RocksDB's iterators, such as a Kafka Streams state store, often seeks without a bound although
 * its caller knows where the search ends. Between {@link #set} and {@link #clear}, iterators over a column family with a
 * {@code ProteanTable} that seek on this thread to a key within the bounds need find nothing outside of them, as if
 * {@code ReadOptions.setIterateLowerBound} and {@code setIterateUpperBound} had been called: a range in which nothing lies
 * is not read. A seek to a key outside of the bounds is not affected, nor are iterators that have a bound of their own.
 *
 * <p>What such an iterator shows outside of the bounds is undefined: keys may be missing there. So this is for callers
 * that look at nothing beyond. {@code plugin/search_bounds.h} is the same for C++.
 */
public final class SearchBounds {
  private SearchBounds() {}

  /**
   * Sets the bounds of this thread, in place of those that it has.
   *
   * @param lower the first key that matters; null: from the beginning
   * @param upper the first key behind those that matter; null: to the end
   * @return false, and nothing is set, if the thread is a virtual one, which may go on in another native thread
   */
  public static boolean set(final byte[] lower, final byte[] upper) {
    if (VirtualThreads.isVirtual()) {
      return false;
    }
    set0(lower, upper);
    return true;
  }

  /** Takes the bounds of this thread away. */
  public static void clear() {
    clear0();
  }

  private static native void set0(byte[] lower, byte[] upper);

  private static native void clear0();
}
