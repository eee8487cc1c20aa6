// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import protean.rocksjava.SearchBounds;

/** The bounds that Protean's tables obey. The native library must have been loaded. */
enum NativeBounds implements ThreadBounds {
  INSTANCE;

  @Override
  public boolean set(final KeyRange range) {
    return SearchBounds.set(range.lower(), range.upper());
  }

  @Override
  public void clear() {
    SearchBounds.clear();
  }
}
