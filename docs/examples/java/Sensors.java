// SPDX-License-Identifier: Apache-2.0

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import protean.rocksjava.ApproximateCount;
import protean.rocksjava.FilterStatistics;
import protean.rocksjava.KeyRange;
import protean.rocksjava.Protean;
import protean.rocksjava.ProteanTableConfig;
import protean.rocksjava.RefreshOptions;
import protean.rocksjava.SearchBounds;
import protean.rocksjava.SstFileFilter;

/**
 * Readings of a sensor in a DB with range filters: bounded seeks, counts, existence, statistics and a refresh.
 * <pre>java -cp rocksdbjni-9.10.0.jar:protean-rocksjava-1.0.0.jar Sensors.java DB</pre>
 */
public final class Sensors {
  private static byte[] key(final int day, final int hour, final int minute) {
    return String.format("2026-11-%02d %02d:%02d", day, hour, minute).getBytes(UTF_8);
  }

  /** The readings of an hour, which has none if it is odd. */
  private static int readHour(final RocksDB db, final int day, final int hour) throws RocksDBException {
    int readings = 0;
    try (Slice limit = new Slice(key(day, hour + 1, 0));
        ReadOptions read = new ReadOptions().setIterateUpperBound(limit);
        RocksIterator iterator = db.newIterator(read)) {
      for (iterator.seek(key(day, hour, 0)); iterator.isValid(); iterator.next()) {
        readings++;
      }
      iterator.status();
    }
    return readings;
  }

  /** Whether a search that others make, with no bound of its own, finds nothing in an hour. */
  private static boolean isSilent(final RocksDB db, final int day, final int hour) {
    final byte[] limit = key(day, hour + 1, 0);
    try (SearchBounds.Scope bounds = SearchBounds.within(key(day, hour, 0), limit); RocksIterator iterator = db.newIterator()) {
      iterator.seek(key(day, hour, 0));
      return bounds.isSet() && !(iterator.isValid() && Arrays.compareUnsigned(iterator.key(), limit) < 0);
    }
  }

  public static void main(final String[] arguments) throws RocksDBException {
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("proteus:14");
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(table);
        RocksDB db = RocksDB.open(options, arguments[0]); FlushOptions flush = new FlushOptions()) {
      for (int minute = 0; minute < 30 * 24 * 60; minute++) {
        if (minute / 60 % 2 == 0) {
          db.put(key(1 + minute / 60 / 24, minute / 60 % 24, minute % 60), "21.5".getBytes(UTF_8));
        }
      }
      db.flush(flush);
      int readings = 0;
      int silent = 0;
      for (int day = 1; day <= 30; day++) {
        for (int hour = 0; hour < 23; hour++) {
          readings += readHour(db, day, hour);
          silent += isSilent(db, day, hour) ? 1 : 0;
        }
      }
      final KeyRange day = new KeyRange(key(7, 0, 0), key(8, 0, 0));
      final ApproximateCount count = Protean.approximateCount(db, null, null, day);
      final boolean[] mayExist = Protean.rangesMayExist(db, null, null, List.of(day, new KeyRange(key(31, 0, 0), null)));
      final FilterStatistics statistics = Protean.filterStatistics(db, null);
      final Path file = Path.of(statistics.list("files").get(0).text("path"));
      try (SstFileFilter filter = SstFileFilter.open(options, file)) {
        System.out.printf("%d readings; %d readings on a day; on the day and later: [%b, %b]; in %s: %b%n", readings,
            count.count(), mayExist[0], mayExist[1], file.getFileName(), filter.rangesMayExist(List.of(day))[0]);
      }
      final RefreshOptions refresh = new RefreshOptions().with("min_gain", 0.05).with("max_bytes", "1G");
      System.out.printf("%d hours are silent; %d seeks did not read; %d files have new filters%n", silent,
          statistics.count("total.bounded_seeks.negatives"), Protean.refreshFilters(db, null, refresh).filesRewritten());
    }
  }
}
