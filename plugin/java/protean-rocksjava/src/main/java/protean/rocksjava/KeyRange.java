// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Objects;

/**
 * The keys from {@code begin} on that are before {@code end}. The arrays are not copied.
 *
 * @param begin the first key
 * @param end the first key behind the range
 */
public record KeyRange(byte[] begin, byte[] end) {
  /** Neither bound may be null. */
  public KeyRange {
    Objects.requireNonNull(begin, "begin");
    Objects.requireNonNull(end, "end");
  }
}
