// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.Statistics;
import org.rocksdb.Status;

/** Counts, statistics, and refreshing. */
class DatabaseTest {
  private static final byte[] FIRST = Records.bytes(0);
  private static final byte[] BEHIND_LAST = {-1};

  @TempDir Path folder;

  private static Options options(final String policy) {
    return new Options().setCreateIfMissing(true).setDisableAutoCompactions(true)
        .setTableFormatConfig(new ProteanTableConfig().setRangeFilter(policy));
  }

  @Test
  void counts() throws RocksDBException {
    final Records records = new Records(1);
    try (Options options = options("surf:0:4"); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 2, 2000);
      final ApproximateCount both = Protean.approximateCount(db, null, FIRST, BEHIND_LAST);
      assertEquals(2, both.sortedRuns());
      assertTrue(both.deletions() > 0);
      assertFalse(both.isExact());
      try (CompactRangeOptions compact = new CompactRangeOptions()) {
        db.compactRange(null, null, null, compact);
      }
      final ApproximateCount all = Protean.approximateCount(db, db.getDefaultColumnFamily(), FIRST, BEHIND_LAST);
      assertEquals(records.size(), all.count());
      assertEquals(0, all.filesScanned());
      assertTrue(all.isExact(), all.toString());
      db.put(Records.bytes(5), new byte[0]);
      assertEquals(1, Protean.approximateCount(db, null, FIRST, Records.bytes(6)).inMemtables());
      assertEquals(0, Protean.approximateCount(db, null, FIRST, Records.bytes(5)).count());
      assertEquals(0, Protean.approximateCount(db, null, BEHIND_LAST, FIRST).count());
      assertEquals(0, Protean.approximateCount(db, null, new byte[0], new byte[0]).count());
      assertThrows(NullPointerException.class, () -> Protean.approximateCount(db, null, null, BEHIND_LAST));
      // Open ends.
      final long count = Protean.approximateCount(db, null, FIRST, BEHIND_LAST).count();
      assertEquals(count, Protean.approximateCount(db, null, null, null, null).count());
      final long below = Protean.approximateCount(db, null, null, null, Records.bytes(700)).count();
      assertEquals(Protean.approximateCount(db, null, FIRST, Records.bytes(700)).count(), below);
      assertEquals(count - below, Protean.approximateCount(db, null, null, Records.bytes(700), null).count());
      // Options of the reads.
      try (Snapshot snapshot = db.getSnapshot(); ReadOptions old = new ReadOptions().setSnapshot(snapshot);
          ReadOptions checked = new ReadOptions().setVerifyChecksums(true).setFillCache(false)) {
        assertEquals(count, Protean.approximateCount(db, null, checked, null, null).count());
        final RocksDBException e =
            assertThrows(RocksDBException.class, () -> Protean.approximateCount(db, null, old, null, null));
        assertEquals(Status.Code.NotSupported, e.getStatus().getCode());
        db.releaseSnapshot(snapshot);
      }
      final ReadOptions closed = new ReadOptions();
      closed.close();
      assertThrows(IllegalStateException.class, () -> Protean.approximateCount(db, null, closed, null, null));
      assertThrows(NullPointerException.class, () -> Protean.approximateCount(null, null, FIRST, BEHIND_LAST));
    }
  }

  @Test
  void tellsWhatMayExist() throws RocksDBException {
    try (Options options = options("surf:0:12"); RocksDB db = RocksDB.open(options, folder.toString())) {
      for (int i = 0; i < 1000; i++) {
        db.put(Records.bytes(1000 * i), new byte[0]);
      }
      try (FlushOptions flush = new FlushOptions()) {
        db.flush(flush);
      }
      final List<byte[]> keys = new ArrayList<>();
      final List<KeyRange> ranges = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        keys.add(Records.bytes(1000 * i));
        keys.add(Records.bytes(1000 * i + 500));
        ranges.add(new KeyRange(Records.bytes(1000 * i), Records.bytes(1000 * i + 1)));
        ranges.add(new KeyRange(Records.bytes(1000 * i + 500), Records.bytes(1000 * i + 600)));
      }
      final boolean[] keysMayExist = Protean.keysMayExist(db, null, null, keys);
      final boolean[] rangesMayExist = Protean.rangesMayExist(db, db.getDefaultColumnFamily(), null, ranges);
      int inVain = 0;
      for (int i = 0; i < 2000; i += 2) {
        assertTrue(keysMayExist[i] && rangesMayExist[i], "what exists may exist");
        inVain += (keysMayExist[i + 1] ? 1 : 0) + (rangesMayExist[i + 1] ? 1 : 0);
      }
      assertTrue(inVain < 200, inVain + " of 2000");

      try (Snapshot before = db.getSnapshot(); ReadOptions old = new ReadOptions().setSnapshot(before)) {
        db.delete(Records.bytes(0));
        assertFalse(Protean.keysMayExist(db, null, null, List.of(Records.bytes(0)))[0]);
        assertTrue(Protean.keysMayExist(db, null, old, List.of(Records.bytes(0)))[0]);
        db.releaseSnapshot(before);
      }
      assertEquals(0, Protean.keysMayExist(db, null, null, List.of()).length);
      assertFalse(Protean.rangesMayExist(db, null, null, List.of(new KeyRange(BEHIND_LAST, FIRST)))[0]);
      assertThrows(NullPointerException.class, () -> new KeyRange(null, FIRST));
      assertThrows(NullPointerException.class, () -> Protean.keysMayExist(db, null, null, Arrays.asList(FIRST, null)));
      final ReadOptions closed = new ReadOptions();
      closed.close();
      assertThrows(IllegalStateException.class, () -> Protean.keysMayExist(db, null, closed, List.of(FIRST)));
    }
  }

  @Test
  void otherTablesAreRefused() throws RocksDBException {
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(new BlockBasedTableConfig());
        RocksDB db = RocksDB.open(options, folder.toString())) {
      db.put(FIRST, FIRST);
      final RocksDBException e =
          assertThrows(RocksDBException.class, () -> Protean.approximateCount(db, null, FIRST, BEHIND_LAST));
      assertEquals(Status.Code.InvalidArgument, e.getStatus().getCode());
      assertTrue(e.getMessage().contains("ProteanTable"), e.getMessage());
      assertThrows(RocksDBException.class, () -> Protean.keysMayExist(db, null, null, List.of(FIRST)));
      assertThrows(RocksDBException.class, () -> Protean.refreshFilters(db, null, new RefreshOptions()));
      assertEquals(0, Protean.filterStatistics(db, null).total().openFiles());
    }
  }

  // The DB hands on the handle that it has given to the application.
  @Test
  void closedHandleOfTheDefaultColumnFamily() throws RocksDBException {
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions dbOptions = new DBOptions().setCreateIfMissing(true);
        Options options = options("proteus:12");
        ColumnFamilyOptions familyOptions = new ColumnFamilyOptions(options);
        RocksDB db = RocksDB.open(dbOptions, folder.toString(),
            List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, familyOptions)), handles)) {
      db.put(FIRST, FIRST);
      final ColumnFamilyHandle handle = handles.get(0);
      assertEquals(1, Protean.approximateCount(db, handle, FIRST, BEHIND_LAST).inMemtables());
      handle.close();
      for (final ColumnFamilyHandle given : new ColumnFamilyHandle[] {null, handle}) {
        assertEquals("default", Protean.filterStatistics(db, given).columnFamily());
        assertEquals(1, Protean.approximateCount(db, given, FIRST, BEHIND_LAST).inMemtables());
        assertEquals(0, Protean.refreshFilters(db, given, new RefreshOptions()).files().size());
      }
    }
  }

  @Test
  void closedDatabasesAreRefused() throws RocksDBException {
    final RocksDB db;
    try (Options options = options("proteus:12")) {
      db = RocksDB.open(options, folder.toString());
      try (ColumnFamilyOptions familyOptions = new ColumnFamilyOptions()) {
        final ColumnFamilyHandle family =
            db.createColumnFamily(new ColumnFamilyDescriptor(new byte[] {'a'}, familyOptions));
        assertEquals("a", Protean.filterStatistics(db, family).columnFamily());
        family.close();
        assertThrows(IllegalStateException.class, () -> Protean.filterStatistics(db, family));
      }
      db.close();
    }
    assertThrows(IllegalStateException.class, () -> Protean.approximateCount(db, null, FIRST, BEHIND_LAST));
    assertThrows(IllegalStateException.class, () -> Protean.filterStatistics(db, null));
    assertThrows(IllegalStateException.class, () -> Protean.refreshFilters(db, null, new RefreshOptions()));
    assertThrows(IllegalStateException.class, () -> Protean.prometheus(List.of(new Protean.ColumnFamily(db, null))));
  }

  @Test
  void anotherPolicyInAnOpenDB() throws RocksDBException {
    final Records records = new Records(3);
    try (Options options = options("proteus:12"); RocksDB db = RocksDB.open(options, folder.toString());
        ColumnFamilyOptions plain = new ColumnFamilyOptions().setTableFormatConfig(new BlockBasedTableConfig());
        ColumnFamilyHandle other = db.createColumnFamily(new ColumnFamilyDescriptor(new byte[] {'a'}, plain))) {
      records.write(db, 1, 2000);
      assertEquals(List.of("Proteus"), kinds(db));
      final IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> Protean.setRangeFilter(db, null, "surf:99:0"));
      assertTrue(e.getMessage().contains("99 is not allowed"), e.getMessage());
      Protean.setRangeFilter(db, null, "surf:0:8");
      records.write(db, 1, 2000);
      assertEquals(List.of("Proteus", "SuRF"), kinds(db));
      try (CompactRangeOptions compact = new CompactRangeOptions()) {
        db.compactRange(null, null, null, compact);
      }
      assertEquals(List.of("SuRF"), kinds(db));
      records.check(db, 200);
      assertEquals(Status.Code.InvalidArgument, assertThrows(RocksDBException.class,
          () -> Protean.setRangeFilter(db, other, "surf:0:8")).getStatus().getCode());
    }
    // The OPTIONS file has it.
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    try (DBOptions options = new DBOptions(); ConfigOptions config = new ConfigOptions()) {
      OptionsUtil.loadLatestOptions(config, folder.toString(), options, families);
      final ProteanTableConfig table = (ProteanTableConfig) families.get(0).getOptions().tableFormatConfig();
      assertTrue(table.rangeFilter().contains("SuRF"), table.rangeFilter());
    }
  }

  private static List<String> kinds(final RocksDB db) throws RocksDBException {
    return Protean.filterStatistics(db, null).files().stream().map(FilterStatistics.File::kind).distinct().sorted().toList();
  }

  @Test
  void statistics() throws RocksDBException {
    final Records records = new Records(2);
    try (Statistics tickers = new Statistics(); Options options = options("proteus:12").setStatistics(tickers);
        RocksDB db = RocksDB.open(options, folder.toString());
        ColumnFamilyOptions familyOptions = new ColumnFamilyOptions()
            .setTableFormatConfig(new ProteanTableConfig().setRangeFilter("surf:0:4"));
        ColumnFamilyHandle family = db.createColumnFamily(
            new ColumnFamilyDescriptor("größere \"Familie\"".getBytes(java.nio.charset.StandardCharsets.UTF_8),
                familyOptions))) {
      records.write(db, 3, 2000);
      records.check(db, 1000);
      final FilterStatistics statistics = Protean.filterStatistics(db, null);
      assertEquals(folder.toString(), statistics.db());
      assertEquals("default", statistics.columnFamily());
      assertEquals(3, statistics.liveFiles());
      assertEquals(3, statistics.files().size());
      assertEquals(3, statistics.total().openFiles());
      assertTrue(statistics.total().unusedFiles().isEmpty());
      assertEquals(statistics.total().boundedSeeks(), statistics.levels().get(0).sums().boundedSeeks());
      assertEquals(0, statistics.levels().get(0).level());
      long keys = 0;
      for (final FilterStatistics.File file : statistics.files()) {
        assertEquals("Proteus", file.kind());
        assertTrue(file.path().startsWith(folder.toString()), file.path());
        assertFalse(file.design().isEmpty());
        keys += file.keys();
      }
      assertEquals(keys, statistics.total().keys());
      final FilterStatistics.Seeks closed = statistics.total().boundedSeeks();
      assertEquals(closed.asked(), closed.avoided() + closed.truePositives() + closed.falsePositives());
      assertEquals(statistics.total().blocksAvoided(), closed.avoided() + statistics.total().unboundedSeeks().avoided());
      assertTrue(statistics.tickerGets().known());
      assertTrue(statistics.tickerGets().negatives() > 0);
      final FilterStatistics.Lookups gets = statistics.total().gets();
      assertEquals(0, gets.unasked());
      assertEquals(statistics.tickerGets().negatives(), gets.negatives());
      assertEquals(statistics.tickerGets().truePositives(), gets.truePositives());
      assertEquals(statistics.tickerGets().falsePositives(), gets.falsePositives());
      assertEquals(gets.negatives() + gets.truePositives() + gets.falsePositives(), gets.asked());
      // All numbers have the names of all languages, too.
      assertEquals(gets.negatives(), statistics.facts().count("total.gets.negatives"));
      assertEquals("default", statistics.facts().text("column_family"));
      assertTrue(Double.isNaN(statistics.facts().get("refresh.seconds_left")));
      assertEquals(3, statistics.facts().files().size());
      assertTrue(statistics.facts().numbers().size() > 50);
      assertTrue(gets.fpr() >= 0 && gets.fpr() < 1);
      assertEquals(gets, statistics.levels().get(0).sums().gets());
      assertEquals(3, statistics.total().filesByBasis().values().stream().mapToLong(Long::longValue).sum());
      assertEquals(3, statistics.total().filterBlocksLoaded());
      assertEquals(statistics.total().filterBytes(), statistics.total().filterBytesLoaded());
      assertEquals(3, statistics.builds().filters());
      assertEquals(keys, statistics.builds().keys());
      assertEquals(statistics.total().filterBytes(), statistics.builds().filterBytes());
      assertEquals(statistics.total().modelMicros(), statistics.builds().modelMicros());
      assertTrue(statistics.builds().buildMicros() > 0);
      assertEquals(0, statistics.refreshes().runs());
      assertFalse(statistics.refreshes().running());
      assertTrue(statistics.refreshes().secondsLeft() < 0);
      assertEquals(20000, statistics.samples().capacity());
      assertEquals(100, statistics.samples().sampleEvery());
      assertTrue(statistics.toString().startsWith("Filters of column family default of "), statistics.toString());
      assertTrue(statistics.toJson().startsWith("{") && statistics.toJson().endsWith("}"), statistics.toJson());
      assertTrue(statistics.toJson().contains("\"column_family\""), statistics.toJson());

      final String age = "(?m)^protean_samples_age_seconds.*";
      assertEquals(Protean.prometheus(List.of(new Protean.ColumnFamily(db, null))).replaceAll(age, ""),
          statistics.toPrometheus().replaceAll(age, ""));

      final FilterStatistics.Sums sums = Protean.filterSums(folder.toString());
      assertEquals(statistics.total().keys(), sums.keys());
      assertEquals(closed, sums.boundedSeeks());
      assertEquals(0, Protean.filterSums(folder + "/nothing").openFiles());

      assertEquals("größere \"Familie\"", Protean.filterStatistics(db, family).columnFamily());
      final String prometheus = Protean.prometheus(
          List.of(new Protean.ColumnFamily(db, null), new Protean.ColumnFamily(db, family)));
      assertTrue(prometheus.contains("column_family=\"default\""), prometheus);
      assertTrue(prometheus.contains("größere \\\"Familie\\\""), prometheus);
      assertEquals(2, prometheus.split("# TYPE protean_bounded_seeks_asked_total ", -1).length);
      assertEquals("", Protean.prometheus(List.of()).replaceAll("(?m)^#.*\n?", ""));
    }
  }

  @Test
  void transactionDatabase() throws RocksDBException {
    final Records records = new Records(3);
    try (Options options = options("surf:0:4");
        OptimisticTransactionDB db = OptimisticTransactionDB.open(options, folder.toString())) {
      records.write(db, 2, 1000);
      records.check(db, 200);
      assertEquals(2, Protean.filterStatistics(db, null).liveFiles());
      assertEquals(2, Protean.approximateCount(db, null, FIRST, BEHIND_LAST).sortedRuns());
    }
  }

  @Test
  void refresh() throws RocksDBException {
    final Records records = new Records(4);
    try (Options options = options("proteus:2"); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 3, 2000);
    }
    // Policies without samples may be refreshed from others.
    try (Options options = options("surf:0:8"); RocksDB db = RocksDB.open(options, folder.toString())) {
      final RefreshResult dry = Protean.refreshFilters(db, null, new RefreshOptions().withDryRun(true));
      assertEquals(3, dry.filesRewritten(), dry.files().toString());
      assertEquals(3, dry.files().size());
      assertTrue(dry.files().stream().allMatch(file -> file.oldDesign().startsWith("proteus")), dry.files().toString());

      final List<Long> decided = new ArrayList<>();
      final RefreshException ended = assertThrows(RefreshException.class,
          () -> Protean.refreshFilters(db, null, new RefreshOptions().withProgress(progress -> {
            decided.add(progress.filesDecided());
            assertTrue(progress.files() == 3 && progress.bytes() > 0 && progress.bytesDecided() <= progress.bytes());
            return false;
          })));
      assertEquals(Status.Code.Incomplete, ended.getStatus().getCode());
      assertEquals(0, ended.result().filesRewritten());
      assertEquals(List.of(0L), decided);

      final IllegalStateException thrown = new IllegalStateException("enough");
      assertSame(thrown, assertThrows(IllegalStateException.class,
          () -> Protean.refreshFilters(db, null, new RefreshOptions().withProgress(progress -> {
            throw thrown;
          }))));

      final RefreshResult none = Protean.refreshFilters(db, null, new RefreshOptions().withMaxBytes(1));
      assertEquals(0, none.filesRewritten());
      final RefreshResult result = Protean.refreshFilters(db, null,
          new RefreshOptions().withMinGain(0).withPayback(Duration.ofDays(2)).withProgress(progress -> true));
      assertEquals(3, result.filesRewritten(), result.files().toString());
      assertEquals(dry.bytesRewritten(), result.bytesRewritten());
      assertTrue(result.files().stream().allMatch(file -> file.outcome().equals("rewritten") && file.error().isEmpty()));
      assertTrue(Protean.filterStatistics(db, null).files().stream().allMatch(file -> file.kind().equals("SuRF")));
      records.check(db, 500);
      records.checkAll(db);
    }
    try (Options options = options("surf:0:8"); RocksDB db = RocksDB.openReadOnly(options, folder.toString())) {
      final RocksDBException e =
          assertThrows(RocksDBException.class, () -> Protean.refreshFilters(db, null, new RefreshOptions()));
      assertEquals(Status.Code.NotSupported, e.getStatus().getCode());
    }
  }

  @Test
  void refreshOfSomeFiles() throws RocksDBException {
    final Records records = new Records(5);
    try (Options options = options("surf:0:4"); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 2, 2000);
      try (CompactRangeOptions down = new CompactRangeOptions().setChangeLevel(true).setTargetLevel(3)) {
        db.compactRange(null, null, null, down);
      }
      records.write(db, 2, 2000);
    }
    // The files have the filters of another policy.
    try (Options options = options("surf:0:8"); RocksDB db = RocksDB.open(options, folder.toString())) {
      final RefreshOptions all = new RefreshOptions().withAllFiles(true);
      final RefreshOptions dry = all.withDryRun(true);
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, dry)));
      assertEquals(List.of(3), rewrittenLevels(Protean.refreshFilters(db, null, dry.withLevels(2, 3))));
      assertEquals(List.of(0, 0), rewrittenLevels(Protean.refreshFilters(db, null, dry.withLevels(0))));
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, dry.withLevels(0).withLevels())));
      assertEquals(List.of(), rewrittenLevels(Protean.refreshFilters(db, null, dry.withRange(BEHIND_LAST, null))));
      assertEquals(List.of(), rewrittenLevels(Protean.refreshFilters(db, null, dry.withRange(null, new byte[0]))));
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, dry.withRange(FIRST, BEHIND_LAST))));

      final byte[] first = FIRST.clone();
      final RefreshOptions copied = dry.withRange(first, null);
      Arrays.fill(first, (byte) -1);
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, copied)));

      final RefreshResult done = Protean.refreshFilters(db, null, all.withLevels(0).withMaxParallelRewrites(2));
      assertEquals(2, done.filesRewritten(), done.files().toString());
      assertTrue(done.files().stream().anyMatch(file -> file.level() == 3 && file.outcome().equals("not selected")),
          done.files().toString());
      records.checkAll(db);
    }
  }

  private static List<Integer> rewrittenLevels(final RefreshResult result) {
    return result.files().stream().filter(file -> file.outcome().equals("would be rewritten"))
        .map(RefreshResult.File::level).toList();
  }

  @Test
  void badRefreshOptions() {
    final RefreshOptions options = new RefreshOptions();
    assertThrows(IllegalArgumentException.class, () -> options.withMaxBytes(-1));
    assertThrows(IllegalArgumentException.class, () -> options.withBytesPerSecond(-1));
    assertThrows(IllegalArgumentException.class, () -> options.withLevels(0, -1));
    assertThrows(IllegalArgumentException.class, () -> options.withMaxParallelRewrites(0));
    assertThrows(IllegalArgumentException.class, () -> options.withMaxParallelRewrites(1025));
    assertThrows(IllegalArgumentException.class, () -> options.withMinGain(-0.1));
    assertThrows(IllegalArgumentException.class, () -> options.withMinGain(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> options.withPayback(Duration.ofSeconds(-1)));
  }
}
