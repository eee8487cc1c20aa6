// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
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
  private static final KeyRange ALL = new KeyRange(FIRST, BEHIND_LAST);

  @TempDir Path folder;

  private static Options options(final String policy) {
    return new Options().setCreateIfMissing(true).setDisableAutoCompactions(true)
        .setTableFormatConfig(new ProteanTableConfig().setRangeFilter(policy));
  }

  private static ApproximateCount count(final RocksDB db, final byte[] start, final byte[] limit) throws RocksDBException {
    return Protean.approximateCount(db, null, null, new KeyRange(start, limit));
  }

  @Test
  void counts() throws RocksDBException {
    final Records records = new Records(1);
    try (Options options = options("surf:0:4"); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 2, 2000);
      final ApproximateCount both = Protean.approximateCount(db, null, null, ALL);
      assertEquals(2, both.count("sorted_runs"));
      assertTrue(both.count("deletions") > 0);
      assertFalse(both.isExact());
      try (CompactRangeOptions compact = new CompactRangeOptions()) {
        db.compactRange(null, null, null, compact);
      }
      final ApproximateCount all = Protean.approximateCount(db, db.getDefaultColumnFamily(), null, ALL);
      assertEquals(records.size(), all.count());
      assertEquals(0, all.count("files_scanned"));
      assertTrue(all.isExact(), all.toString());
      db.put(Records.bytes(5), new byte[0]);
      assertEquals(1, count(db, FIRST, Records.bytes(6)).count("in_memtables"));
      assertEquals(0, count(db, FIRST, Records.bytes(5)).count());
      assertEquals(0, count(db, BEHIND_LAST, FIRST).count());
      assertEquals(0, count(db, new byte[0], new byte[0]).count());
      assertThrows(NullPointerException.class, () -> Protean.approximateCount(db, null, null, null));
      // Open ends.
      final long count = Protean.approximateCount(db, null, null, ALL).count();
      assertEquals(count, count(db, null, null).count());
      final long below = count(db, null, Records.bytes(700)).count();
      assertEquals(count(db, FIRST, Records.bytes(700)).count(), below);
      assertEquals(count - below, count(db, Records.bytes(700), null).count());
      // Options of the reads.
      try (Snapshot snapshot = db.getSnapshot(); ReadOptions old = new ReadOptions().setSnapshot(snapshot);
          ReadOptions checked = new ReadOptions().setVerifyChecksums(true).setFillCache(false)) {
        assertEquals(count, Protean.approximateCount(db, null, checked, new KeyRange(null, null)).count());
        final RocksDBException e =
            assertThrows(RocksDBException.class, () -> Protean.approximateCount(db, null, old, new KeyRange(null, null)));
        assertEquals(Status.Code.NotSupported, e.getStatus().getCode());
        db.releaseSnapshot(snapshot);
      }
      final ReadOptions closed = new ReadOptions();
      closed.close();
      assertThrows(IllegalStateException.class, () -> Protean.approximateCount(db, null, closed, new KeyRange(null, null)));
      assertThrows(NullPointerException.class, () -> Protean.approximateCount(null, null, null, ALL));
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
      // Open ends.
      final byte[] last = Records.bytes(999_000);
      final byte[] behindLast = Records.bytes(999_001);
      assertArrayEquals(new boolean[] {true, false, true, true, false, true}, Protean.rangesMayExist(db, null, null,
          List.of(new KeyRange(null, Records.bytes(1001)), new KeyRange(null, FIRST), new KeyRange(null, last),
              new KeyRange(last, null), new KeyRange(behindLast, null), new KeyRange(null, null))));
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
          assertThrows(RocksDBException.class, () -> Protean.approximateCount(db, null, null, ALL));
      assertEquals(Status.Code.InvalidArgument, e.getStatus().getCode());
      assertTrue(e.getMessage().contains("ProteanTable"), e.getMessage());
      assertThrows(RocksDBException.class, () -> Protean.keysMayExist(db, null, null, List.of(FIRST)));
      assertThrows(RocksDBException.class, () -> Protean.refreshFilters(db, null, new RefreshOptions()));
      assertEquals(0, Protean.filterStatistics(db, null).count("total.open_files"));
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
      assertEquals(1, Protean.approximateCount(db, handle, null, ALL).count("in_memtables"));
      handle.close();
      for (final ColumnFamilyHandle given : new ColumnFamilyHandle[] {null, handle}) {
        assertEquals("default", Protean.filterStatistics(db, given).text("column_family"));
        assertEquals(1, Protean.approximateCount(db, given, null, ALL).count("in_memtables"));
        assertEquals(0, Protean.refreshFilters(db, given, new RefreshOptions()).list("files").size());
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
        assertEquals("a", Protean.filterStatistics(db, family).text("column_family"));
        family.close();
        assertThrows(IllegalStateException.class, () -> Protean.filterStatistics(db, family));
      }
      db.close();
    }
    assertThrows(IllegalStateException.class, () -> Protean.approximateCount(db, null, null, ALL));
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

  @Test
  void tableOptionsOfAnOpenDB() throws RocksDBException {
    final Records records = new Records(6);
    final String policy = "{id=protean.Proteus;bits_per_key=12;level_bits=kEqual}";
    try (Options options = options(policy); RocksDB db = RocksDB.open(options, folder.toString())) {
      records.write(db, 2, 2000);
      Protean.setTableOption(db, null, "range_filters", "false");
      records.check(db, 200);
      assertEquals(0, avoided(Protean.filterStatistics(db, null), "total.bounded_seeks."));
    }
    // The OPTIONS file has it.
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    try (DBOptions options = new DBOptions(); ConfigOptions config = new ConfigOptions()) {
      OptionsUtil.loadLatestOptions(config, folder.toString(), options, families);
      assertFalse(((ProteanTableConfig) families.get(0).getOptions().tableFormatConfig()).rangeFilters());
    }
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter(policy).setRangeFilters(false);
    try (Options options = options(policy).setTableFormatConfig(table);
        RocksDB db = RocksDB.open(options, folder.toString())) {
      records.check(db, 200);
      assertEquals(0, avoided(Protean.filterStatistics(db, null), "total.bounded_seeks."));
      Protean.setTableOption(db, null, "range_filters", "true");
      records.check(db, 200);
      assertTrue(avoided(Protean.filterStatistics(db, null), "total.bounded_seeks.") > 100);
      assertEquals(12, mostBitsPerKey(db), 1);
      Protean.setTableOption(db, null, "filter_policy.bits_per_key", "20");
      records.write(db, 1, 2000);
      assertEquals(20, mostBitsPerKey(db), 1);
      final RocksDBException e =
          assertThrows(RocksDBException.class, () -> Protean.setTableOption(db, null, "filter_policy.bits", "20"));
      assertTrue(e.getMessage().contains("there is no option bits"), e.getMessage());
    }
  }

  private static double mostBitsPerKey(final RocksDB db) throws RocksDBException {
    return Protean.filterStatistics(db, null).list("files").stream().mapToDouble(file -> file.get("filter.bits_per_key")).max()
        .orElse(0);
  }

  private static List<String> kinds(final RocksDB db) throws RocksDBException {
    return Protean.filterStatistics(db, null).list("files").stream().map(file -> file.text("filter.kind")).distinct().sorted()
        .toList();
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
      assertEquals(folder.toString(), statistics.text("db"));
      assertEquals("default", statistics.text("column_family"));
      assertEquals(3, statistics.count("live_files"));
      assertEquals(3, statistics.list("files").size());
      assertEquals(List.of(), statistics.list("no such list"));
      assertEquals(3, statistics.count("total.open_files"));
      assertEquals(3, statistics.count("total.used_files"));
      final Facts level = statistics.list("levels").get(0);
      assertEquals(0, level.get("level"));
      long keys = 0;
      for (final Facts file : statistics.list("files")) {
        assertEquals("Proteus", file.text("filter.kind"));
        assertTrue(file.text("path").startsWith(folder.toString()), file.toString());
        assertFalse(file.text("filter.design").isEmpty());
        keys += file.count("keys");
      }
      assertEquals(keys, statistics.count("total.keys"));
      assertEquals(statistics.count("total.bounded_seeks.asked"), avoided(statistics, "total.bounded_seeks.")
          + statistics.count("total.bounded_seeks.true_positives") + statistics.count("total.bounded_seeks.false_positives"));
      assertEquals(statistics.count("total.blocks_avoided"),
          avoided(statistics, "total.bounded_seeks.") + avoided(statistics, "total.unbounded_seeks."));
      assertTrue(statistics.count("ticker_gets.negatives") > 0);
      assertEquals(0, statistics.get("total.gets.unasked"));
      for (final String outcome : List.of("negatives", "true_positives", "false_positives")) {
        assertEquals(statistics.get("ticker_gets." + outcome), statistics.get("total.gets." + outcome));
      }
      final double fpr = statistics.get("total.gets.fpr");
      assertTrue(fpr >= 0 && fpr < 1, statistics.toString());
      // The level has what the total has.
      for (final String name : statistics.numbers().keySet()) {
        if (name.startsWith("total.")) {
          assertEquals(statistics.get(name), level.get(name.substring("total.".length())), name);
        }
      }
      assertTrue(Double.isNaN(statistics.get("refresh.seconds_left")));
      assertTrue(Double.isNaN(statistics.get("no.such.name")));
      assertTrue(statistics.numbers().size() > 50);
      assertThrows(UnsupportedOperationException.class, () -> statistics.numbers().clear());
      assertEquals(3, statistics.numbers().keySet().stream().filter(name -> name.startsWith("total.files_by_basis."))
          .mapToLong(statistics::count).sum());
      assertEquals(3, statistics.count("total.filter_blocks_loaded"));
      assertEquals(statistics.count("total.filter_bytes"), statistics.count("total.filter_bytes_loaded"));
      assertEquals(3, statistics.count("builds.filters"));
      assertEquals(keys, statistics.count("builds.keys"));
      assertEquals(statistics.count("total.filter_bytes"), statistics.count("builds.filter_bytes"));
      assertEquals(statistics.count("total.model_micros"), statistics.count("builds.model_micros"));
      assertTrue(statistics.count("builds.build_micros") > 0);
      assertEquals(0, statistics.get("refresh.runs"));
      assertFalse(statistics.flag("refresh.running"));
      assertEquals(20000, statistics.count("samples.capacity"));
      assertEquals(100, statistics.count("samples.sample_every"));
      assertTrue(statistics.toString().startsWith("Filters of column family default of "), statistics.toString());
      assertTrue(statistics.toJson().startsWith("{") && statistics.toJson().endsWith("}"), statistics.toJson());
      assertTrue(statistics.toJson().contains("\"column_family\""), statistics.toJson());

      final String ofOne = Protean.prometheus(List.of(new Protean.ColumnFamily(db, null)));
      assertTrue(ofOne.startsWith("# HELP protean_live_files "), ofOne);
      final String labels = "{db=\"" + folder + "\",column_family=\"default\"}";
      assertTrue(ofOne.contains("\nprotean_builds_keys_total" + labels + " " + keys + "\n"), ofOne);

      final Facts sums = Protean.filterSums(folder.toString());
      assertEquals(statistics.count("total.keys"), sums.count("keys"));
      assertEquals(statistics.get("total.bounded_seeks.asked"), sums.get("bounded_seeks.asked"));
      assertEquals(0, Protean.filterSums(folder + "/nothing").get("open_files"));

      assertEquals("größere \"Familie\"", Protean.filterStatistics(db, family).text("column_family"));
      final String prometheus = Protean.prometheus(
          List.of(new Protean.ColumnFamily(db, null), new Protean.ColumnFamily(db, family)));
      assertTrue(prometheus.contains("column_family=\"default\""), prometheus);
      assertTrue(prometheus.contains("größere \\\"Familie\\\""), prometheus);
      assertEquals(2, prometheus.split("# TYPE protean_bounded_seeks_asked_total ", -1).length);
      assertEquals("", Protean.prometheus(List.of()).replaceAll("(?m)^#.*\n?", ""));
    }
  }

  private static long avoided(final Facts facts, final String seeks) {
    return facts.count(seeks + "negatives") + facts.count(seeks + "passed");
  }

  @Test
  void transactionDatabase() throws RocksDBException {
    final Records records = new Records(3);
    try (Options options = options("surf:0:4");
        OptimisticTransactionDB db = OptimisticTransactionDB.open(options, folder.toString())) {
      records.write(db, 2, 1000);
      records.check(db, 200);
      assertEquals(2, Protean.filterStatistics(db, null).count("live_files"));
      assertEquals(2, Protean.approximateCount(db, null, null, ALL).count("sorted_runs"));
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
      final RefreshResult dry = Protean.refreshFilters(db, null, new RefreshOptions().with("dry_run", true));
      assertEquals(3, dry.filesRewritten(), dry.toJson());
      assertEquals(3, dry.list("files").size());
      assertTrue(dry.list("files").stream().allMatch(file -> file.text("old_design").startsWith("proteus")), dry.toJson());

      final List<Long> decided = new ArrayList<>();
      final RefreshException ended = assertThrows(RefreshException.class,
          () -> Protean.refreshFilters(db, null, new RefreshOptions().withProgress(progress -> {
            decided.add(progress.count("files_decided"));
            assertEquals(3, progress.count("files"));
            assertTrue(progress.count("bytes") > 0 && progress.count("bytes_decided") <= progress.count("bytes"));
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

      final RefreshResult none = Protean.refreshFilters(db, null, new RefreshOptions().with("max_bytes", 1));
      assertEquals(0, none.filesRewritten());
      final RefreshResult result = Protean.refreshFilters(db, null,
          new RefreshOptions().with("min_gain", 0).with("payback_seconds", 2 * 24 * 60 * 60).withProgress(progress -> true));
      assertEquals(3, result.filesRewritten(), result.toJson());
      assertEquals(dry.get("bytes_rewritten"), result.get("bytes_rewritten"));
      assertTrue(result.list("files").stream()
          .allMatch(file -> file.text("outcome").equals("rewritten") && file.text("status").isEmpty()));
      assertEquals(List.of("SuRF"), kinds(db));
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
      final RefreshOptions all = new RefreshOptions().with("all_files", true);
      final RefreshOptions dry = all.with("dry_run", true);
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, dry)));
      assertEquals(List.of(3), rewrittenLevels(Protean.refreshFilters(db, null, dry.with("levels", "2,3"))));
      assertEquals(List.of(0, 0), rewrittenLevels(Protean.refreshFilters(db, null, dry.with("levels", "0"))));
      assertEquals(List.of(0, 0, 3),
          rewrittenLevels(Protean.refreshFilters(db, null, dry.with("levels", "0").with("levels", ""))));
      assertEquals(List.of(), rewrittenLevels(Protean.refreshFilters(db, null, dry.with("start", BEHIND_LAST))));
      assertEquals(List.of(), rewrittenLevels(Protean.refreshFilters(db, null, dry.with("limit", new byte[0]))));
      assertEquals(List.of(0, 0, 3),
          rewrittenLevels(Protean.refreshFilters(db, null, dry.with("start", FIRST).with("limit", BEHIND_LAST))));

      final byte[] first = FIRST.clone();
      final RefreshOptions copied = dry.with("start", first);
      Arrays.fill(first, (byte) -1);
      assertEquals(List.of(0, 0, 3), rewrittenLevels(Protean.refreshFilters(db, null, copied)));

      final RefreshResult done = Protean.refreshFilters(db, null, all.with("levels", "0").with("max_parallel_rewrites", 2));
      assertEquals(2, done.filesRewritten(), done.toJson());
      assertTrue(done.list("files").stream()
          .anyMatch(file -> file.get("level") == 3 && file.text("outcome").equals("not selected")),
          done.toJson());
      records.checkAll(db);
    }
  }

  private static List<Integer> rewrittenLevels(final RefreshResult result) {
    return result.list("files").stream().filter(file -> file.text("outcome").equals("would be rewritten"))
        .map(file -> (int) file.get("level")).toList();
  }

  @Test
  void refreshOptions() {
    final RefreshOptions options = new RefreshOptions();
    assertEquals("", options.toString());
    final String defaults = options.with("dry_run", false).toString();
    assertEquals("dry_run=false;levels=;start=;limit=;max_parallel_rewrites=1;all_files=false;max_bytes=18446744073709551615;"
        + "bytes_per_second=0;min_gain=0.020000;payback_seconds=86400.000", defaults);
    assertEquals("dry_run=true;levels=1,6;start=0x6B;limit=0x;max_parallel_rewrites=2;all_files=true;max_bytes=3;"
            + "bytes_per_second=4;min_gain=0.500000;payback_seconds=1.500",
        options.with("dry_run", true).with("levels", "1,6").with("start", new byte[] {'k'}).with("limit", new byte[0])
            .with("max_parallel_rewrites", 2).with("all_files", true).with("max_bytes", 3).with("bytes_per_second", 4)
            .with("min_gain", 0.5).with("payback_seconds", 1.5).toString());
    assertTrue(options.with("min_gain", 1e-7).toString().contains(";min_gain=0.000000;"));
    assertEquals(options.with("max_bytes", 64 << 10).toString(), options.with("max_bytes", "64K").toString());
    assertEquals(defaults, options.with("min_gain", 1).with("min_gain", "0.02").toString());
    assertTrue(options.with("start", "a;b").with("dry_run", true).toString().contains(";start=0x613B62;"));
    assertTrue(assertThrows(IllegalArgumentException.class, () -> options.with("gain", "1")).getMessage()
        .contains("gain is not allowed; allowed: dry_run, levels, start"));
    assertTrue(assertThrows(IllegalArgumentException.class, () -> options.with("min_gain", 5)).getMessage()
        .contains("min_gain=5 is not allowed; allowed: numbers from 0 to 1"));
  }

  @Test
  void badRefreshOptions() {
    final RefreshOptions options = new RefreshOptions();
    assertThrows(IllegalArgumentException.class, () -> options.with("max_bytes", -1));
    assertThrows(IllegalArgumentException.class, () -> options.with("bytes_per_second", -1));
    assertThrows(IllegalArgumentException.class, () -> options.with("levels", "0,-1"));
    assertThrows(IllegalArgumentException.class, () -> options.with("max_parallel_rewrites", 0));
    assertThrows(IllegalArgumentException.class, () -> options.with("max_parallel_rewrites", 1025));
    assertThrows(IllegalArgumentException.class, () -> options.with("min_gain", -0.1));
    assertThrows(IllegalArgumentException.class, () -> options.with("min_gain", Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> options.with("payback_seconds", -1));
  }
}
