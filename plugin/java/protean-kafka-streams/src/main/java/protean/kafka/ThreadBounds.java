package protean.kafka;

/** Where the bounds of a thread's searches are set: natively, nowhere, or in a test. */
interface ThreadBounds {
  /** Sets none. */
  ThreadBounds NONE =
      new ThreadBounds() {
        @Override
        public boolean set(final KeyRange range) {
          return false;
        }

        @Override
        public void clear() {}
      };

  /** Sets the bounds of this thread. Returns false if nothing has been set. */
  boolean set(KeyRange range);

  /** Takes them away again. */
  void clear();
}
