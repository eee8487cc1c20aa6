// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.internals.SessionKeySchema;
import org.apache.kafka.streams.state.internals.WindowKeySchema;
import org.junit.jupiter.api.Test;

/** The ranges are those that Kafka's own key schemas search. */
class KeyRangeTest {
  private static final int ROUNDS = 200_000;

  private final Random random = new Random(1);
  private final WindowKeySchema windows = new WindowKeySchema();
  private final SessionKeySchema sessions = new SessionKeySchema();

  @Test
  void windowsOfOneKey() {
    for (int i = 0; i < ROUNDS; ++i) {
      final Bytes key = key();
      final long from = time();
      final long to = time();
      assertSearches(
          windows.lowerRangeFixedSize(key, from),
          windows.upperRangeFixedSize(key, to),
          KeyRange.windows(key, from, to));
      // Expired segments: Kafka begins later than it has been asked to.
      final Bytes later = windows.lowerRangeFixedSize(key, Math.max(from, time()));
      if (later.compareTo(windows.upperRangeFixedSize(key, to)) <= 0) {
        assertHolds(KeyRange.windows(key, from, to), later.get());
      }
    }
  }

  @Test
  void windowsOfSeveralKeys() {
    for (int i = 0; i < ROUNDS; ++i) {
      final Bytes keyFrom = key();
      final Bytes keyTo = key();
      final long to = time();
      if (keyFrom.compareTo(keyTo) <= 0) {
        assertSearches(
            windows.lowerRange(keyFrom, time()),
            windows.upperRange(keyTo, to),
            KeyRange.windows(keyFrom, keyTo, to));
      }
      assertSearches(windows.lowerRange(keyFrom, 0), null, KeyRange.windows(keyFrom, null, to));
      assertSearches(null, windows.upperRange(keyTo, to), KeyRange.windows(null, keyTo, to));
    }
  }

  @Test
  void sessionsOfOneKey() {
    for (int i = 0; i < ROUNDS; ++i) {
      final Bytes key = key();
      final long end = time();
      final long start = Math.max(0, time()); // Kafka refuses negative ones.
      assertSearches(
          sessions.lowerRangeFixedSize(key, end),
          sessions.upperRangeFixedSize(key, start),
          KeyRange.sessions(key, end, start));
    }
  }

  @Test
  void sessionsOfSeveralKeys() {
    for (int i = 0; i < ROUNDS; ++i) {
      final Bytes keyFrom = key();
      final Bytes keyTo = key();
      final long start = time();
      if (keyFrom.compareTo(keyTo) <= 0) {
        assertSearches(
            sessions.lowerRange(keyFrom, time()),
            sessions.upperRange(keyTo, start),
            KeyRange.sessions(keyFrom, keyTo, start));
      }
    }
  }

  @Test
  void keysAreInclusive() {
    final KeyRange range = KeyRange.keys(bytes(1), bytes(2));
    assertArrayEquals(new byte[] {1}, range.lower());
    assertArrayEquals(new byte[] {2, 0}, range.upper());
    assertEquals(null, KeyRange.keys(bytes(1), null).upper());
    assertEquals(null, KeyRange.keys(null, bytes(1)).lower());
    assertArrayEquals(new byte[] {0}, KeyRange.keys(bytes(), bytes()).upper());
  }

  @Test
  void prefixesAreAsLongAsTheirSuccessors() {
    assertArrayEquals(new byte[] {1, 3}, KeyRange.prefix(new byte[] {1, 2}).upper());
    assertArrayEquals(new byte[] {2, 0}, KeyRange.prefix(new byte[] {1, -1}).upper());
    assertNull(KeyRange.prefix(new byte[] {-1, -1}));
    assertNull(KeyRange.prefix(new byte[0]));
    assertNull(KeyRange.prefix(null));
  }

  @Test
  void nothingIsKnownOfNothing() {
    assertNull(KeyRange.keys(null, null));
    assertNull(KeyRange.keys(bytes(2), bytes(1)));
    assertNull(KeyRange.windows((Bytes) null, 0, 1));
    assertNull(KeyRange.windows((Bytes) null, null, 1));
    assertNull(KeyRange.windows(bytes(2), bytes(1), 1));
    assertNull(KeyRange.windows(bytes(1), 5, 4));
    assertNull(KeyRange.sessions((Bytes) null, 0, 1));
    assertNull(KeyRange.sessions((Bytes) null, null, 1));
    assertNotNull(KeyRange.sessions(bytes(1), Long.MAX_VALUE, -1));
  }

  /** What Kafka searches, from first to last, both inclusive, is the range, unless it is empty. */
  private static void assertSearches(final Bytes first, final Bytes last, final KeyRange range) {
    if (first != null && last != null && first.compareTo(last) > 0) {
      assertNull(range);
      return;
    }
    assertArrayEquals(first == null ? null : first.get(), range.lower());
    assertArrayEquals(last == null ? null : Arrays.copyOf(last.get(), last.get().length + 1), range.upper());
  }

  private static void assertHolds(final KeyRange range, final byte[] key) {
    assertTrue(Arrays.compareUnsigned(range.lower(), key) <= 0);
    assertTrue(Arrays.compareUnsigned(key, range.upper()) < 0);
  }

  private Bytes key() {
    return TestData.key(random);
  }

  private long time() {
    return TestData.anyTime(random);
  }

  private static Bytes bytes(final int... values) {
    final byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; ++i) {
      bytes[i] = (byte) values[i];
    }
    return Bytes.wrap(bytes);
  }
}
