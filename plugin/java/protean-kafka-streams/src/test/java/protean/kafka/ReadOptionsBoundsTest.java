// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.utils.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import protean.rocksjava.ProteanTableConfig;

/** What docs/internals/kafka_upstream.md proposes for Kafka itself returns what Kafka's iterators return. */
class ReadOptionsBoundsTest {
  @TempDir Path folder;

  /** The class that docs/internals/kafka_upstream.md proposes. */
  private static final class RangeReadOptions implements AutoCloseable {
    private final ReadOptions options = new ReadOptions();
    private final Slice lower;
    private final Slice upper;

    RangeReadOptions(final Bytes from, final Bytes to, final boolean toInclusive) {
      lower = from == null ? null : new Slice(from.get());
      upper = to == null ? null : new Slice(toInclusive ? successor(to.get()) : to.get());
      if (lower != null) {
        options.setIterateLowerBound(lower);
      }
      if (upper != null) {
        options.setIterateUpperBound(upper);
      }
    }

    ReadOptions options() {
      return options;
    }

    private static byte[] successor(final byte[] key) {
      return Arrays.copyOf(key, key.length + 1);
    }

    @Override
    public void close() {
      options.close();
      if (lower != null) {
        lower.close();
      }
      if (upper != null) {
        upper.close();
      }
    }
  }

  @Test
  void rangesAreTheSame() throws RocksDBException {
    final Random random = new Random(1);
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(new ProteanTableConfig());
        RocksDB db = RocksDB.open(options, folder.toString());
        FlushOptions flush = new FlushOptions()) {
      for (int i = 0; i < 20_000; ++i) {
        if (random.nextInt(10) != 0) {
          final Bytes from = random.nextInt(8) == 0 ? null : TestData.key(random);
          final Bytes to = random.nextInt(8) == 0 ? null : TestData.key(random);
          // Kafka looks at that before it makes an iterator.
          if (from == null || to == null || from.compareTo(to) <= 0) {
            final boolean forward = random.nextBoolean();
            final boolean inclusive = !forward || random.nextBoolean();
            assertEquals(
                range(db, from, to, forward, inclusive, false),
                range(db, from, to, forward, inclusive, true),
                from + " " + to + " " + forward + " " + inclusive);
          }
        } else if (random.nextInt(20) == 0) {
          db.flush(flush);
        } else if (random.nextInt(5) == 0) {
          db.delete(TestData.key(random).get());
        } else {
          db.put(TestData.key(random).get(), new byte[10]);
        }
      }
      assertTrue(Long.parseLong(db.getProperty("rocksdb.estimate-num-keys")) > 100);
    }
  }

  /** Reads a range in the way of Kafka's RocksDBRangeIterator. */
  private static List<Bytes> range(
      final RocksDB db,
      final Bytes from,
      final Bytes to,
      final boolean forward,
      final boolean inclusive,
      final boolean bounded) {
    final List<Bytes> found = new ArrayList<>();
    try (RangeReadOptions read = new RangeReadOptions(bounded ? from : null, bounded ? to : null, inclusive);
        RocksIterator iterator = db.newIterator(read.options())) {
      if (forward) {
        if (from == null) {
          iterator.seekToFirst();
        } else {
          iterator.seek(from.get());
        }
      } else if (to == null) {
        iterator.seekToLast();
      } else {
        iterator.seekForPrev(to.get());
      }
      while (iterator.isValid()) {
        final Bytes key = Bytes.wrap(iterator.key());
        final Bytes last = forward ? to : from;
        if (last != null) {
          final int order = forward ? key.compareTo(last) : last.compareTo(key);
          if (order > 0 || (order == 0 && !inclusive)) {
            break;
          }
        }
        found.add(key);
        if (forward) {
          iterator.next();
        } else {
          iterator.prev();
        }
      }
    }
    return found;
  }
}
