// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;

/**
 * The range of keys in RocksDB that a search of a state store covers: from {@code lower} on, below {@code upper}; null is
 * open.
 *
 * <p>The factories know how Kafka Streams lays out the keys of its stores. A range holds every key that the store's own
 * search would return, and the key that it seeks to. The factories return null if no range is known, or if it would be
 * empty or everything. They accept any arguments, including null and negative times, and throw nothing.
 */
record KeyRange(byte[] lower, byte[] upper) {
  /** The keys of {@code range(from, to)}: both are inclusive, and null is open. */
  static KeyRange keys(final Bytes from, final Bytes to) {
    return of(from == null ? null : from.get(), to == null ? null : to.get());
  }

  /** The keys of {@code prefixScan}. */
  static KeyRange prefix(final byte[] prefix) {
    final byte[] upper = prefix == null ? null : increment(prefix);
    return upper == null ? null : new KeyRange(prefix, upper);
  }

  /** The windows of one key that start between the two times, both inclusive. */
  static KeyRange windows(final Bytes key, final long from, final long to) {
    return ofKey(key, window(Math.max(0, from), 0), window(to, Integer.MAX_VALUE));
  }

  /** The windows of several keys: Kafka searches the keys, and checks the times of the results. Null is open. */
  static KeyRange windows(final Bytes keyFrom, final Bytes keyTo, final long to) {
    return ofKeys(keyFrom, keyTo, window(to, Integer.MAX_VALUE));
  }

  /** The sessions of one key that end at {@code earliestEnd} or later, and start at {@code latestStart} or earlier. */
  static KeyRange sessions(final Bytes key, final long earliestEnd, final long latestStart) {
    return ofKey(key, session(Math.max(0, earliestEnd), 0), session(Long.MAX_VALUE, latestStart));
  }

  /** The sessions of several keys. Null is open. */
  static KeyRange sessions(final Bytes keyFrom, final Bytes keyTo, final long latestStart) {
    return ofKeys(keyFrom, keyTo, session(Long.MAX_VALUE, latestStart));
  }

  /** One key with the suffixes from {@code first} to {@code last}. */
  private static KeyRange ofKey(final Bytes key, final byte[] first, final byte[] last) {
    return key == null ? null : of(concat(key.get(), first), concat(key.get(), last));
  }

  /** Several keys, with any suffixes up to {@code last}. */
  private static KeyRange ofKeys(final Bytes from, final Bytes to, final byte[] last) {
    return of(from == null ? null : Arrays.copyOf(from.get(), from.get().length + last.length),
        to == null ? null : lastOf(to.get(), last));
  }

  /** From {@code first} to {@code last}, both inclusive. */
  private static KeyRange of(final byte[] first, final byte[] last) {
    if (first == null && last == null) {
      return null;
    }
    if (first != null && last != null && Arrays.compareUnsigned(first, last) > 0) {
      return null;
    }
    // Nothing lies between a key and the same key with a zero byte.
    return new KeyRange(first, last == null ? null : Arrays.copyOf(last, last.length + 1));
  }

  /**
   * Where Kafka ends a search of keys up to {@code key}, given the largest suffix. It ends behind shorter keys, too, whose
   * suffix begins where {@code key} goes on: bytes of {@code key} that are less than the suffix's first one, and all that
   * follow them, give way to the suffix. The first byte always stays.
   */
  private static byte[] lastOf(final byte[] key, final byte[] suffix) {
    int kept = Math.min(1, key.length);
    while (kept < key.length && (key[kept] & 0xFF) >= (suffix[0] & 0xFF)) {
      ++kept;
    }
    return concat(Arrays.copyOf(key, kept), suffix);
  }

  /** The next string of the same length, as in Kafka's {@code prefixScan}; null if there is none. */
  private static byte[] increment(final byte[] bytes) {
    final byte[] next = bytes.clone();
    for (int i = next.length - 1; i >= 0; --i) {
      if (++next[i] != 0) {
        return next;
      }
    }
    return null;
  }

  private static byte[] window(final long start, final int sequence) {
    return ByteBuffer.allocate(Long.BYTES + Integer.BYTES).putLong(start).putInt(sequence).array();
  }

  private static byte[] session(final long end, final long start) {
    return ByteBuffer.allocate(2 * Long.BYTES).putLong(end).putLong(start).array();
  }

  private static byte[] concat(final byte[] key, final byte[] suffix) {
    return ByteBuffer.allocate(key.length + suffix.length).put(key).put(suffix).array();
  }
}
