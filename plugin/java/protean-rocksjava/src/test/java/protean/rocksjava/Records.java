// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.FlushOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/** Records of random 63-bit keys, in a DB and in a map that tells the truth. */
final class Records {
  /** The width of a range, in which there is nearly never a key. */
  static final long NARROW = 1L << 30;

  private final TreeMap<Long, byte[]> truth = new TreeMap<>();
  private final Random random;

  Records(final long seed) {
    random = new Random(seed);
  }

  static byte[] bytes(final long key) {
    return ByteBuffer.allocate(Long.BYTES).putLong(key).array();
  }

  private long randomKey() {
    return random.nextLong() >>> 1;
  }

  /** Writes sorted runs, each of which takes back some of the records before it. */
  void write(final RocksDB db, final int runs, final int records) throws RocksDBException {
    for (int run = 0; run < runs; run++) {
      for (int i = 0; i < records; i++) {
        final long key = randomKey();
        final byte[] value = new byte[50];
        random.nextBytes(value);
        truth.put(key, value);
        db.put(bytes(key), value);
        if (i % 10 == 9) {
          final long gone = truth.ceilingKey(truth.lastKey() / 2);
          truth.remove(gone);
          db.delete(bytes(gone));
        }
      }
      try (FlushOptions options = new FlushOptions()) {
        db.flush(options);
      }
    }
  }

  int size() {
    return truth.size();
  }

  /** A target at, just beside, or far from a key. */
  private long target() {
    final long key = randomKey();
    return switch (random.nextInt(4)) {
      case 0 -> truth.ceilingKey(key % truth.lastKey());
      case 1 -> truth.ceilingKey(key % truth.lastKey()) + 1;
      default -> key % (Long.MAX_VALUE - NARROW);
    };
  }

  /** Compares what reads of all kinds find. */
  void check(final RocksDB db, final int reads) throws RocksDBException {
    for (int i = 0; i < reads; i++) {
      final long from = target();
      assertArrayEquals(truth.get(from), db.get(bytes(from)), "get");
      final long to = from + NARROW;
      try (Slice lower = new Slice(bytes(from)); Slice upper = new Slice(bytes(to));
          ReadOptions options = new ReadOptions().setIterateLowerBound(lower).setIterateUpperBound(upper);
          RocksIterator iterator = db.newIterator(options)) {
        iterator.seek(bytes(from));
        check(iterator, truth.subMap(from, to).isEmpty() ? null : truth.ceilingEntry(from));
        iterator.seekForPrev(bytes(to - 1));
        check(iterator, truth.subMap(from, to).isEmpty() ? null : truth.lowerEntry(to));
      }
      try (RocksIterator iterator = db.newIterator()) {
        iterator.seek(bytes(from));
        check(iterator, truth.ceilingEntry(from));
        if (iterator.isValid()) {
          iterator.next();
          check(iterator, truth.higherEntry(truth.ceilingKey(from)));
        }
      }
    }
  }

  /** Compares all records. */
  void checkAll(final RocksDB db) throws RocksDBException {
    try (RocksIterator iterator = db.newIterator()) {
      iterator.seekToFirst();
      for (final Map.Entry<Long, byte[]> record : truth.entrySet()) {
        check(iterator, record);
        iterator.next();
      }
      check(iterator, null);
    }
  }

  private static void check(final RocksIterator iterator, final Map.Entry<Long, byte[]> wanted) throws RocksDBException {
    iterator.status();
    if (wanted == null) {
      assertFalse(iterator.isValid(), "nothing is to be found");
    } else {
      assertTrue(iterator.isValid(), "something is to be found");
      assertEquals((long) wanted.getKey(), ByteBuffer.wrap(iterator.key()).getLong());
      assertArrayEquals(wanted.getValue(), iterator.value());
    }
  }
}
