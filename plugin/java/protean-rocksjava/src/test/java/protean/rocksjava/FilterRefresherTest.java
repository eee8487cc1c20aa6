// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Refreshing in a thread of its own, and answers to operators. */
class FilterRefresherTest {
  private static final Duration LONG = Duration.ofDays(1);

  @TempDir Path folder;

  private static Options options(final String policy) {
    return new Options().setCreateIfMissing(true).setDisableAutoCompactions(true)
        .setTableFormatConfig(new ProteanTableConfig().setRangeFilter(policy));
  }

  /** Waits for ten minutes at most, for busy machines. */
  private static void await(final BooleanSupplier condition) throws InterruptedException {
    for (int i = 0; i < 12_000 && !condition.getAsBoolean(); i++) {
      Thread.sleep(50);
    }
    assertTrue(condition.getAsBoolean());
  }

  @Test
  void refreshesAfterAPeriod() throws RocksDBException, InterruptedException {
    final Records records = new Records(4);
    try (Options options = options("proteus:2"); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 2000);
      assertEquals(3, Protean.filterStatistics(db, null).count("builds.filters"));
    }
    try (Options options = options("surf:0:8"); RocksDB db = RocksDB.open(options, folder.toString())) {
      final FilterRefresher refresher = FilterRefresher.start(db, null,
          new RefreshOptions().with("min_gain", 0).with("payback_seconds", 2 * 24 * 60 * 60), Duration.ofSeconds(1), null);
      try (refresher) {
        assertEquals(Optional.empty(), refresher.latest());
        assertEquals(0, Protean.filterStatistics(db, null).get("refresh.runs"));
        // Later runs find nothing to do.
        await(() -> refresher.latest().map(FilterRefresher.Latest::runs).orElse(0L) >= 2);
        final FilterRefresher.Latest latest = refresher.latest().orElseThrow();
        assertNull(latest.error());
        assertEquals(3, latest.result().list("files").size());
        final FilterStatistics now = Protean.filterStatistics(db, null);
        assertTrue(now.count("refresh.runs") >= 2);
        assertEquals(0, now.get("refresh.failures"));
        assertEquals(3, now.get("refresh.files_rewritten"));
        assertTrue(now.count("refresh.bytes_rewritten") > 0);
        assertTrue(now.count("refresh.last_end_unix_time") > 1_700_000_000L);
      }
      refresher.close();
      assertThrows(IllegalStateException.class, refresher::latest);
      final FilterStatistics statistics = Protean.filterStatistics(db, null);
      assertTrue(statistics.list("files").stream().allMatch(file -> file.text("filter.kind").equals("SuRF")));
      assertEquals(3, statistics.count("builds.filters"));
      assertTrue(statistics.count("builds.build_micros") > 0);
      assertFalse(statistics.flag("refresh.running"));
      records.checkAll(db);
    }
  }

  @Test
  void failures() throws RocksDBException, InterruptedException {
    try (Options options = options("proteus:12"); RocksDB db = RocksDB.open(options, folder.toString())) {
      new Records(1).write(db, 1, 100);
    }
    try (Options options = options("proteus:12"); RocksDB db = RocksDB.openReadOnly(options, folder.toString());
        FilterRefresher refresher =
            FilterRefresher.start(db, null, new RefreshOptions(), Duration.ofSeconds(1), null)) {
      await(() -> refresher.latest().isPresent());
      final FilterRefresher.Latest latest = refresher.latest().orElseThrow();
      assertEquals(Status.Code.NotSupported, latest.error().getStatus().getCode());
      assertEquals(0, latest.result().filesRewritten());
      assertTrue(Protean.filterStatistics(db, null).count("refresh.failures") > 0);
    }
  }

  @Test
  void badArguments() throws RocksDBException {
    final RocksDB db;
    try (Options options = options("proteus:12")) {
      db = RocksDB.open(options, folder.toString());
      for (final Duration period : new Duration[] {Duration.ZERO, Duration.ofDays(40000)}) {
        assertTrue(assertThrows(IllegalArgumentException.class,
            () -> FilterRefresher.start(db, null, new RefreshOptions(), period, null)).getMessage().contains("a second"));
      }
      assertThrows(IllegalArgumentException.class,
          () -> FilterRefresher.start(db, null, new RefreshOptions().withProgress(progress -> true), LONG, null));
      db.close();
    }
    assertThrows(IllegalStateException.class, () -> FilterRefresher.start(db, null, new RefreshOptions(), LONG, null));
  }

  private static String ask(final Path socket, final String request) throws IOException {
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      channel.write(ByteBuffer.wrap((request + " HTTP/1.1\r\n\r\n").getBytes(StandardCharsets.UTF_8)));
      return new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void requestsAreAnswered() throws Exception {
    try (Options options = options("proteus:12"); RocksDB db = RocksDB.open(options, folder.toString())) {
      new Records(1).write(db, 1, 100);
      final Path socket = folder.resolve("protean.sock");
      try (FilterRefresher refresher = FilterRefresher.start(db, null, new RefreshOptions(), LONG, socket)) {
        final String metrics = ask(socket, "GET /metrics");
        assertTrue(metrics.startsWith("HTTP/1.1 200 OK"), metrics);
        assertTrue(metrics.contains("protean_builds_filters_total"), metrics);
        assertEquals(Optional.empty(), refresher.latest());
      }
      try (FilterRefresher silent = FilterRefresher.start(db, null, new RefreshOptions(), LONG, null)) {
        assertFalse(Files.exists(socket));
        assertEquals(Optional.empty(), silent.latest());
      }
      final Path none = folder.resolve("none").resolve("protean.sock");
      assertTrue(assertThrows(RocksDBException.class,
          () -> FilterRefresher.start(db, null, new RefreshOptions(), LONG, none)).getMessage().contains(none.toString()));
    }
  }
}
