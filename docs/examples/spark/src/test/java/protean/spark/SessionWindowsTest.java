// SPDX-License-Identifier: Apache-2.0

package protean.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.session_window;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBConf;
import org.apache.spark.sql.execution.streaming.state.RocksDBEventForwarder;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.streaming.Trigger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import scala.Option;

/** Session windows, for each of which Spark scans a prefix of its state: with filters they are the same. */
class SessionWindowsTest {
  private static final int BATCHES = 6;
  private static final int EVENTS = 400;
  private static final int USERS = 3000;

  /** What the stores of a query have been opened with. */
  private static final List<Options> OPENED = Collections.synchronizedList(new ArrayList<>());

  /** Keeps the options of its stores, with statistics. */
  public static class WatchedProvider extends ProteanStateStoreProvider {
    @Override
    public RocksDB createRocksDB(final String dfsRootDir, final RocksDBConf conf, final File localRootDir,
        final Configuration hadoopConf, final String loggingId, final boolean useColumnFamilies,
        final boolean enableStateStoreCheckpointIds, final int partitionId,
        final Option<RocksDBEventForwarder> eventForwarder, final Option<String> uniqueId) {
      final RocksDB db = super.createRocksDB(dfsRootDir, conf, localRootDir, hadoopConf, loggingId, useColumnFamilies,
          enableStateStoreCheckpointIds, partitionId, eventForwarder, uniqueId);
      db.rocksDbOptions().setStatistics(new Statistics());
      OPENED.add(db.rocksDbOptions());
      return db;
    }
  }

  @TempDir
  Path folder;

  @Test
  void sameWindowsAndFilteredScans() throws Exception {
    final Random random = new Random(1);
    final Path events = Files.createDirectory(folder.resolve("events"));
    for (int batch = 0; batch < BATCHES; batch++) {
      final StringBuilder lines = new StringBuilder();
      for (int i = 0; i < EVENTS; i++) {
        lines.append(String.format("{\"user\":\"user:%06d\",\"at\":\"2026-11-20T%02d:%02d:%02dZ\"}%n", random.nextInt(USERS),
            10 + batch, random.nextInt(60), random.nextInt(60)));
      }
      final Path file = events.resolve("batch" + batch + ".json");
      Files.writeString(file, lines);
      assertTrue(file.toFile().setLastModified(1_700_000_000_000L + batch * 60_000L));
    }

    final List<String> stock = windows(events, RocksDBStateStoreProvider.class);
    assertTrue(OPENED.isEmpty());
    final List<String> filtered = windows(events, WatchedProvider.class);
    assertEquals(stock, filtered);
    assertTrue(filtered.size() > BATCHES * EVENTS / 2, "only " + filtered.size() + " windows");

    long avoided = 0;
    for (final Options options : OPENED) {
      avoided += options.statistics().getTickerCount(TickerType.LAST_LEVEL_SEEK_FILTERED)
          + options.statistics().getTickerCount(TickerType.NON_LAST_LEVEL_SEEK_FILTERED);
    }
    System.out.println(filtered.size() + " windows; filters have kept " + avoided + " seeks from files");
    assertTrue(avoided > BATCHES * EVENTS / 2, "filters have kept " + avoided + " seeks from files");
  }

  /** The windows of all batches, as they are emitted. */
  private List<String> windows(final Path events, final Class<?> provider) throws Exception {
    final List<String> windows = Collections.synchronizedList(new ArrayList<>());
    try (SparkSession spark = SparkSession.builder().master("local[1]").appName("windows")
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.providerClass", provider.getName()).getOrCreate()) {
      spark.readStream().schema("user STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json(events.toString())
          .withWatermark("at", "12 hours")
          .groupBy(session_window(col("at"), "5 minutes"), col("user")).count()
          .writeStream().outputMode("complete").trigger(Trigger.AvailableNow())
          .option("checkpointLocation", folder.resolve(provider.getSimpleName()).toString())
          .foreachBatch((batch, id) -> {
            windows.clear();
            for (final Row row : batch.collectAsList()) {
              windows.add(row.toString());
            }
          })
          .start().awaitTermination();
    }
    Collections.sort(windows);
    return windows;
  }
}
