// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Arrays;
import java.util.List;

/**
 * The keys from {@code start} on that are before {@code limit}, without timestamps. If {@code start} is not before {@code
 * limit}, there are none. The arrays are not copied.
 *
 * @param start the first key; null: no bound on that side
 * @param limit the first key behind the range; null: no bound on that side
 */
public record KeyRange(byte[] start, byte[] limit) {
  /** The arrays of the bounds of ranges, none of which is null. */
  static byte[][][] bounds(final List<KeyRange> ranges) {
    final KeyRange[] asked = ranges.toArray(new KeyRange[0]); // another thread may change the list
    return new byte[][][] {Arrays.stream(asked).map(KeyRange::start).toArray(byte[][]::new),
        Arrays.stream(asked).map(KeyRange::limit).toArray(byte[][]::new)};
  }
}
