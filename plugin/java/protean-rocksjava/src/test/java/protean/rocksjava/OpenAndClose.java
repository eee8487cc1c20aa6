// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * Opens and closes a DB many times, uses all that has native memory, and says how the process grows:
 *
 * <pre>OpenAndClose FOLDER TIMES protean|stock</pre>
 *
 * <p>With {@code stock}, RocksDB's own table takes the place of Protean's. Run by {@link LeakTest}.
 */
public final class OpenAndClose {
  private OpenAndClose() {}

  private static long residentKilobytes() throws IOException {
    final String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(text -> text.startsWith("VmRSS:")).findFirst().orElseThrow();
    return Long.parseLong(line.replaceAll("[^0-9]", ""));
  }

  private static void use(final RocksDB db, final ColumnFamilyHandle family, final boolean protean) throws RocksDBException {
    try (RocksIterator iterator = db.newIterator(family);
        SearchBounds.Scope bounds = protean ? SearchBounds.within(Records.bytes(100), Records.bytes(200)) : null) {
      if (protean && !bounds.isSet()) {
        throw new AssertionError("no bounds are set");
      }
      iterator.seek(Records.bytes(100));
      iterator.status();
    }
    if (protean) {
      Protean.filterStatistics(db, family).toJson();
      Protean.prometheus(List.of(new Protean.ColumnFamily(db, family)));
      Protean.approximateCount(db, family, null, new KeyRange(Records.bytes(100), null));
      Protean.refreshFilters(db, family, new RefreshOptions().with("dry_run", true));
    }
  }

  private static void openByCode(final String folder, final int i, final boolean protean) throws RocksDBException {
    final String[] policies = {"proteus:12", "surf:0:4", "levels:surf:4:0,{id=protean.Proteus;sample_every=1}"};
    final BlockBasedTableConfig table =
        protean ? new ProteanTableConfig().setRangeFilter(policies[i % policies.length]) : new BlockBasedTableConfig();
    try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(table);
        RocksDB db = RocksDB.open(options, folder); FlushOptions flush = new FlushOptions()) {
      db.put(Records.bytes(i), new byte[10]);
      db.flush(flush);
      use(db, db.getDefaultColumnFamily(), protean);
    }
    if (protean) {
      try {
        new ProteanTableConfig().setRangeFilter("proteus:99");
        throw new AssertionError("a bad policy is taken");
      } catch (final IllegalArgumentException expected) {
        // The caller of this program looks at the memory that the failed attempt leaves.
      }
      final BlockBasedTableConfig bad = new BlockBasedTableConfig() {
        @Override
        protected long newTableFactoryHandle() {
          return ProteanTableConfig.toProtean(super.newTableFactoryHandle(), "proteus:99", "");
        }
      };
      try (Options options = new Options()) {
        options.setTableFormatConfig(bad);
        throw new AssertionError("a bad policy is taken");
      } catch (final IllegalArgumentException expected) {
        // The caller of this program looks at the memory that the failed attempt leaves.
      }
    }
  }

  private static void openByFile(final String folder, final boolean protean) throws RocksDBException {
    try (ConfigOptions config = new ConfigOptions(); DBOptions options = new DBOptions()) {
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      OptionsUtil.loadLatestOptions(config, folder, options, families);
      try (RocksDB db = RocksDB.open(options, folder, families, handles)) {
        use(db, handles.get(0), protean);
        handles.forEach(ColumnFamilyHandle::close);
      }
      families.forEach(family -> family.getOptions().close());
    }
  }

  public static void main(final String[] arguments) throws IOException, RocksDBException {
    final int times = Integer.parseInt(arguments[1]);
    final boolean protean = arguments[2].equals("protean");
    long first = 0;
    for (int i = 0; i < times; i++) {
      if (i % 2 == 0) {
        openByCode(arguments[0], i, protean);
      } else {
        openByFile(arguments[0], protean);
      }
      if (i % 20 == 19) {
        // So that it stays as large.
        try (Options options = new Options()) {
          RocksDB.destroyDB(arguments[0], options);
        }
      }
      if (i == times / 4) {
        first = residentKilobytes();
      }
      if (i % Math.max(times / 10, 1) == 0) {
        System.out.println("after " + (i + 1) + ": " + residentKilobytes() + " KB");
      }
    }
    System.out.println("after " + times + ": " + residentKilobytes() + " KB");
    System.out.println("growth: " + (residentKilobytes() - first) + " KB over the last " + (times - times / 4) + " of " + times);
  }
}
