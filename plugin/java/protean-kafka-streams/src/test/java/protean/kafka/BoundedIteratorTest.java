// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.Test;
import protean.rocksjava.SearchBounds.Scope;

/** Bounds are there when the store may seek, and at no other time. */
class BoundedIteratorTest {
  private final List<String> calls = new ArrayList<>();
  private final KeyRange range = KeyRange.keys(Bytes.wrap(new byte[] {1}), null);
  private final BoundedSearch search = new BoundedSearch();
  private boolean refused;

  /** Records what is called; sets nothing if bounds are refused, as in a virtual thread. */
  private Scope record(final KeyRange bounds) {
    assertSame(range, bounds);
    if (!refused) {
      calls.add("set");
    }
    return new Scope() {
      @Override
      public boolean isSet() {
        return !refused;
      }

      @Override
      public void close() {
        if (!refused) {
          calls.add("clear");
        }
      }
    };
  }

  /** Fails at the number 3. */
  private final KeyValueIterator<Integer, String> inner =
      new KeyValueIterator<>() {
        private final Iterator<Integer> numbers = List.of(1, 2, 3).iterator();

        @Override
        public boolean hasNext() {
          calls.add("hasNext");
          return numbers.hasNext();
        }

        @Override
        public Integer peekNextKey() {
          calls.add("peekNextKey");
          return 0;
        }

        @Override
        public KeyValue<Integer, String> next() {
          calls.add("next");
          final int number = numbers.next();
          if (number == 3) {
            throw new IllegalStateException();
          }
          return KeyValue.pair(number, "");
        }

        @Override
        public void close() {
          calls.add("close");
        }
      };

  private void assertCalls(final String... expected) {
    assertEquals(List.of(expected), calls);
    calls.clear();
  }

  @Test
  void boundsAreSetWhereTheStoreMaySeek() {
    search.use(this::record);
    final BoundedIterator<Integer, String> iterator = new BoundedIterator<>(inner, search, range);
    assertCalls();
    assertTrue(iterator.hasNext());
    assertCalls("set", "hasNext", "clear");
    iterator.peekNextKey();
    assertEquals(1, iterator.next().key);
    assertCalls("peekNextKey", "next");
    iterator.peekNextKey();
    assertCalls("set", "peekNextKey", "clear");
    assertEquals(2, iterator.next().key);
    assertCalls("set", "next", "clear");
    assertThrows(IllegalStateException.class, iterator::next);
    assertCalls("set", "next", "clear");
    assertFalse(iterator.hasNext());
    assertCalls("set", "hasNext", "clear");
    iterator.close();
    assertCalls("close");
    assertThrows(UnsupportedOperationException.class, iterator::remove);
  }

  @Test
  void searchesWhoseBoundsCannotBeSetAreNotCounted() {
    search.use(this::record);
    refused = true;
    assertTrue(new BoundedIterator<>(inner, search, range).hasNext());
    assertCalls("hasNext");
    assertEquals(1, search.within(range, () -> 1));
    assertEquals(0, search.searches());
  }

  @Test
  void searchesAreBoundedUntilTheyReturnOrThrow() {
    assertEquals(1, search.within(range, () -> 1));
    assertCalls();
    search.use(this::record);
    assertEquals(1, search.within(range, () -> 1));
    assertCalls("set", "clear");
    assertEquals(1, search.within(null, () -> 1));
    assertCalls();
    assertThrows(IllegalStateException.class, () -> search.within(range, () -> {
      throw new IllegalStateException();
    }));
    assertCalls("set", "clear");
    assertEquals(2, search.searches());
    search.close();
    assertEquals(1, search.within(range, () -> 1));
    assertCalls();
    assertEquals(2, search.searches());
  }
}
