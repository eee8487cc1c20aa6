// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/** An application with a RocksDB of its own, one of several in the Java VM. Run by {@link TenantsMain}. */
public final class Tenant implements AutoCloseable {
  private static final int RECORDS = 2000;

  private final boolean filtered;
  private final Statistics statistics;
  private final Options options;
  private final RocksDB db;

  /**
   * Opens a DB.
   *
   * @param folder of the DB
   * @param filtered whether with Protean
   */
  public Tenant(final String folder, final boolean filtered) throws RocksDBException {
    RocksDB.loadLibrary();
    this.filtered = filtered;
    statistics = new Statistics();
    options = new Options().setCreateIfMissing(true).setStatistics(statistics);
    if (filtered) {
      options.setTableFormatConfig(Table.make());
    }
    db = RocksDB.open(options, Path.of(folder).toString());
  }

  /** The only part that needs the classes of Protean. */
  private static final class Table {
    static ProteanTableConfig make() {
      return new ProteanTableConfig().setRangeFilter("surf:0:8");
    }
  }

  /** Writes records, and reads all of them back. */
  public void use() throws RocksDBException {
    for (int i = 0; i < RECORDS; i++) {
      db.put(key(2 * i), key(i));
    }
    try (FlushOptions wait = new FlushOptions()) {
      db.flush(wait);
    }
    int seen = 0;
    try (RocksIterator all = db.newIterator()) {
      for (all.seekToFirst(); all.isValid(); all.next()) {
        seen++;
      }
    }
    check(seen == RECORDS, seen + " records");
    check(db.get(key(8)) != null && db.get(key(7)) == null, "a Get is wrong");
    final long before = statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_MISS)
        + statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_HIT);
    try (Slice end = new Slice(key(8)); ReadOptions bounded = new ReadOptions().setIterateUpperBound(end);
        RocksIterator none = db.newIterator(bounded)) {
      none.seek(key(7));
      check(!none.isValid(), "an empty range has a key");
    }
    final long blocks = statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_MISS)
        + statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_HIT) - before;
    check(blocks == (filtered ? 0 : 1), "an empty seek has read " + blocks + " blocks");
  }

  @Override
  public void close() {
    db.close();
    options.close();
    statistics.close();
  }

  private static byte[] key(final int number) {
    return String.format("%06d", number).getBytes(StandardCharsets.UTF_8);
  }

  private static void check(final boolean right, final String otherwise) {
    if (!right) {
      throw new AssertionError(otherwise);
    }
  }
}
