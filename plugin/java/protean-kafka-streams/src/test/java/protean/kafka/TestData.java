// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.Random;
import org.apache.kafka.common.utils.Bytes;

/** Keys and times that hurt. */
final class TestData {
  private static final byte[] LETTERS = {0, 0, 1, 'a', 0x7F, (byte) 0x80, -1, -1};
  private static final long[] TIMES = {
    0, 1, 59_999, 60_000, 1L << 40, 1L << 56, Long.MAX_VALUE - 1, Long.MAX_VALUE, -1, -60_000, Long.MIN_VALUE
  };

  private TestData() {}

  /** Empty, short, of zero bytes and of the largest, prefixes of each other. */
  static Bytes key(final Random random) {
    final byte[] key = new byte[random.nextInt(4) + (random.nextInt(8) == 0 ? 10 : 0)];
    for (int i = 0; i < key.length; ++i) {
      key[i] = LETTERS[random.nextInt(LETTERS.length)];
    }
    return Bytes.wrap(key);
  }

  static long anyTime(final Random random) {
    return random.nextInt(3) == 0 ? TIMES[random.nextInt(TIMES.length)] : random.nextInt(200_000) - 1_000;
  }
}
