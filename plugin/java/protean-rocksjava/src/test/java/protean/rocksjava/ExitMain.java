// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.concurrent.CountDownLatch;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Ends the Java VM while a DB is open and RocksDB's threads build tables:
 *
 * <pre>ExitMain FOLDER POLICY</pre>
 *
 * <p>Run by {@link ExitTest}.
 */
public final class ExitMain {
  private ExitMain() {}

  private static void writeForEver(final RocksDB db, final int thread, final CountDownLatch begun) {
    try {
      for (int i = 0;; i++) {
        db.put(Records.bytes(i * 7919 % 100_000 * 4 + thread), new byte[50]);
        if (i == 50_000) {
          begun.countDown();
        }
      }
    } catch (final RocksDBException e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  public static void main(final String[] arguments) throws RocksDBException, InterruptedException {
    // With read-ahead, each compaction of RocksDB reads a static string of its own, which may be destroyed by then.
    final Options options = new Options().setCreateIfMissing(true).setWriteBufferSize(32 << 10)
        .setTargetFileSizeBase(32 << 10).setMaxBytesForLevelBase(128 << 10).setLevel0FileNumCompactionTrigger(2)
        .setMaxBackgroundJobs(4).setCompactionReadaheadSize(0)
        .setTableFormatConfig(new ProteanTableConfig().setRangeFilter(arguments[1]));
    final RocksDB db = RocksDB.open(options, arguments[0]);
    final int threads = 2;
    final CountDownLatch begun = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      final int thread = i;
      final Thread writer = new Thread(() -> writeForEver(db, thread, begun));
      writer.setDaemon(true);
      writer.start();
    }
    begun.await();
    System.exit(0);
  }
}
