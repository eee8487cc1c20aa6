// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/** The example of plugin/java/README.md. */
class ReadmeTest {
  @TempDir Path folder;

  @Test
  void example() throws RocksDBException {
    final String path = folder.toString();
    int found = 0;
    try (Cache cache = new LRUCache(1 << 20); Options options = new Options().setCreateIfMissing(true)) {
      ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("proteus:12");
      table.setBlockCache(cache);
      options.setTableFormatConfig(table);
      try (RocksDB db = RocksDB.open(options, path)) {
        for (int day = 10; day < 30; day++) {
          db.put(("2026-11-" + day + " noon").getBytes(), "record".getBytes());
        }
      }
      try (RocksDB db = RocksDB.open(options, path);
          Slice end = new Slice("2026-11-21");
          ReadOptions day = new ReadOptions().setIterateUpperBound(end);
          RocksIterator records = db.newIterator(day)) {
        for (records.seek("2026-11-20".getBytes()); records.isValid(); records.next()) {
          found++;
        }
        assertEquals(1, Protean.filterStatistics(db, null).count("live_files"));
      }
    }
    assertEquals(1, found);
  }
}
