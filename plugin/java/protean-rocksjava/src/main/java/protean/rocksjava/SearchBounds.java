package protean.rocksjava;

/**
 * Where the searches of this thread end, for callers that cannot set {@code ReadOptions}.
 *
 * <p>An engine that hides RocksDB's iterators, such as a Kafka Streams state store, often seeks without a bound although
 * its caller knows where the search ends. Between {@link #set} and {@link #clear}, searches of this thread over a column
 * family with a {@code ProteanTable} end at these bounds, as if {@code ReadOptions.setIterateLowerBound} and
 * {@code setIterateUpperBound} had been called: a range in which nothing lies is not read. Iterators that have bounds of
 * their own keep them.
 *
 * <p>What an iterator shows outside of the bounds is in order, but incomplete. So this is for callers that look at nothing
 * outside, and whose searches begin within: at a key from {@code lower} to {@code upper}, or at the first or last one. A
 * seek to another key ignores the bounds. And no other iterator is stepped in between, since RocksDB may seek in a step.
 * {@code plugin/search_bounds.h} is the same for C++.
 */
public final class SearchBounds {
  private SearchBounds() {}

  /**
   * Sets the bounds of this thread, in place of those that it has.
   *
   * @param lower the first key that matters; null: from the beginning
   * @param upper the first key behind those that matter; null: to the end
   * @return false, and nothing is set, if the thread is a virtual one, which may go on in another native thread
   * @throws UnsatisfiedLinkError as {@link Protean#load}; nothing is set then
   */
  public static boolean set(final byte[] lower, final byte[] upper) {
    if (VirtualThreads.isVirtual()) {
      return false;
    }
    Protean.load();
    set0(lower, upper);
    return true;
  }

  /** Takes the bounds of this thread away. */
  public static void clear() {
    if (Protean.isLoaded()) {
      clear0();
    }
  }

  private static native void set0(byte[] lower, byte[] upper);

  private static native void clear0();
}
