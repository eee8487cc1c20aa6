// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** Searches without ReadOptions end at the bounds of their thread. */
class SearchBoundsTest {
  @TempDir Path folder;

  private static Long find(final RocksIterator iterator, final long from, final long to) throws RocksDBException {
    iterator.status();
    if (!iterator.isValid()) {
      return null;
    }
    final long key = ByteBuffer.wrap(iterator.key()).getLong();
    return key < from || key >= to ? null : key;
  }

  @ParameterizedTest
  @ValueSource(strings = {"proteus:14", "surf:0:8"})
  void searchesEndAtTheBounds(final String policy) throws RocksDBException {
    final TreeSet<Long> truth = new TreeSet<>();
    final Random random = new Random(1);
    try (Options options = new Options().setCreateIfMissing(true).setDisableAutoCompactions(true)
            .setTableFormatConfig(new ProteanTableConfig().setRangeFilter(policy));
        RocksDB db = RocksDB.open(options, folder.toString())) {
      for (int run = 0; run < 4; run++) {
        for (int i = 0; i < 2000; i++) {
          final long key = random.nextLong() >>> 1;
          truth.add(key);
          db.put(Records.bytes(key), new byte[20]);
        }
        try (FlushOptions flush = new FlushOptions()) {
          db.flush(flush);
        }
      }
      for (int i = 0; i < 2000; i++) {
        // Half of the ranges have keys in them.
        final long from = i % 2 == 0 ? random.nextLong() >>> 2 : truth.ceiling(random.nextLong() >>> 2) - 1000;
        final long to = from + Records.NARROW;
        try (SearchBounds.Scope bounds = SearchBounds.within(Records.bytes(from), Records.bytes(to));
            RocksIterator iterator = db.newIterator()) {
          assertTrue(bounds.isSet());
          iterator.seek(Records.bytes(from));
          for (final long key : truth.subSet(from, to)) {
            assertEquals(key, find(iterator, from, to));
            iterator.next();
          }
          assertEquals(null, find(iterator, from, to));
          iterator.seekForPrev(Records.bytes(to));
          for (final long key : truth.subSet(from, true, to, false).descendingSet()) {
            assertEquals(key, find(iterator, from, to));
            iterator.prev();
          }
          assertEquals(null, find(iterator, from, to));
        }
      }
      final FilterStatistics statistics = Protean.filterStatistics(db, null);
      assertTrue(statistics.count("total.blocks_avoided") > 6000, statistics.toString());
      assertEquals(0, statistics.get("total.unbounded_seeks.asked"));

      // One bound alone; and none.
      final byte[] upper = Records.bytes(truth.first());
      try (SearchBounds.Scope below = SearchBounds.within(null, upper); RocksIterator iterator = db.newIterator()) {
        iterator.seek(Records.bytes(0));
        assertEquals(null, find(iterator, 0, truth.first()));
        try (SearchBounds.Scope none = SearchBounds.within(null, null)) {
          iterator.seek(Records.bytes(0));
          assertEquals(truth.first(), find(iterator, 0, Long.MAX_VALUE));
          assertTrue(none.isSet() && below.isSet());
        }
      }
      try (RocksIterator iterator = db.newIterator()) {
        iterator.seekToFirst();
        for (final long key : truth) {
          assertEquals(key, find(iterator, 0, Long.MAX_VALUE));
          iterator.next();
        }
        assertFalse(iterator.isValid());
      }
    }
  }

  @Test
  void firstAndLastKeysAreNotMoved() throws RocksDBException {
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(new ProteanTableConfig());
        RocksDB db = RocksDB.open(options, folder.toString()); FlushOptions flush = new FlushOptions()) {
      for (final long key : new long[] {3, 5, 9}) {
        db.put(Records.bytes(key), new byte[0]);
        db.flush(flush);
      }
      try (SearchBounds.Scope bounds = SearchBounds.within(Records.bytes(4), Records.bytes(8));
          RocksIterator iterator = db.newIterator()) {
        assertTrue(bounds.isSet());
        iterator.seekToLast();
        assertEquals(9L, find(iterator, 0, Long.MAX_VALUE));
        iterator.seekForPrev(Records.bytes(8));
        assertEquals(5L, find(iterator, 4, 8));
        iterator.seekToFirst();
        assertEquals(3L, find(iterator, 0, Long.MAX_VALUE));
        iterator.seek(Records.bytes(4));
        assertEquals(5L, find(iterator, 4, 8));
      }
    }
  }

  @Test
  void boundsAreOfOneThread() throws RocksDBException, InterruptedException {
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(new ProteanTableConfig());
        RocksDB db = RocksDB.open(options, folder.toString()); FlushOptions flush = new FlushOptions()) {
      db.put(Records.bytes(5), new byte[0]);
      db.put(Records.bytes(9), new byte[0]);
      db.flush(flush);
      final AtomicReference<Object> found = new AtomicReference<>();
      final Thread other = new Thread(() -> {
        try (RocksIterator iterator = db.newIterator()) {
          iterator.seek(Records.bytes(6));
          found.set(find(iterator, 0, Long.MAX_VALUE));
        } catch (final RocksDBException e) {
          found.set(e);
        }
      });
      try (SearchBounds.Scope bounds = SearchBounds.within(Records.bytes(6), Records.bytes(8))) {
        other.start();
        other.join();
        assertTrue(bounds.isSet());
      }
      assertEquals(9L, found.get());
    }
  }

  @Test
  void virtualThreadsHaveNone() throws ReflectiveOperationException, InterruptedException {
    Assumptions.assumeTrue(Runtime.version().feature() >= 21);
    final AtomicReference<Boolean> set = new AtomicReference<>();
    final Runnable task = () -> {
      try (SearchBounds.Scope scope = SearchBounds.within(new byte[0], new byte[0])) {
        set.set(scope.isSet());
      }
    };
    try {
      ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task)).join();
    } catch (final InvocationTargetException e) {
      throw new AssertionError(e);
    }
    assertEquals(false, set.get());
  }

  @Test
  void aScopeRemovesItsBounds() throws RocksDBException {
    try (Options options = new Options().setCreateIfMissing(true)
            .setTableFormatConfig(new ProteanTableConfig().setRangeFilter("surf:0:8"));
        RocksDB db = RocksDB.open(options, folder.toString());
        FlushOptions flush = new FlushOptions()) {
      db.put(Records.bytes(1), new byte[1]);
      db.put(Records.bytes(100), new byte[1]);
      db.flush(flush);
      try (RocksIterator iterator = db.newIterator()) {
        final Runnable findsNothing = () -> {
          iterator.seek(Records.bytes(50));
          assertFalse(iterator.isValid());
        };
        final Runnable findsNext = () -> {
          iterator.seek(Records.bytes(50));
          assertTrue(iterator.isValid());
        };
        final SearchBounds.Scope narrow = SearchBounds.within(Records.bytes(50), Records.bytes(60));
        findsNothing.run();
        // The inner scope counts until it is closed.
        try (SearchBounds.Scope wide = SearchBounds.within(null, Records.bytes(101))) {
          findsNext.run();
          assertEquals(IllegalStateException.class, closedElsewhere(wide));
          findsNext.run();
        }
        findsNothing.run();
        narrow.close();
        findsNext.run();
        // Once it is closed, it is done.
        assertFalse(narrow.isSet());
        try (SearchBounds.Scope again = SearchBounds.within(Records.bytes(50), Records.bytes(60))) {
          narrow.close();
          findsNothing.run();
          assertTrue(again.isSet());
        }
        findsNext.run();
      }
    }
  }

  /** What closing a scope throws in another thread. */
  private static Class<?> closedElsewhere(final SearchBounds.Scope scope) {
    final AtomicReference<Class<?>> thrown = new AtomicReference<>();
    final Thread other = new Thread(() -> {
      try {
        scope.close();
      } catch (final IllegalStateException e) {
        thrown.set(e.getClass());
      }
    });
    other.start();
    try {
      other.join();
    } catch (final InterruptedException e) {
      throw new AssertionError(e);
    }
    return thrown.get();
  }
}
