// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

/** Sets the bounds of a thread's searches: in the native library, nowhere, or in a test. */
interface ThreadBounds {
  /** Sets no bounds. */
  ThreadBounds NONE =
      new ThreadBounds() {
        @Override
        public boolean set(final KeyRange range) {
          return false;
        }

        @Override
        public void clear() {}
      };

  /** Sets the bounds of this thread. Returns false if that is not possible. */
  boolean set(KeyRange range);

  /** Removes the bounds of this thread. */
  void clear();
}
