// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TableProperties;

/** What is in the RocksDBs of an application that has ended, as stock RocksDB reads it: files, sorted runs, filters. */
final class StateInspection {
  private static final double MIB = 1 << 20;

  private StateInspection() {}

  static void run(final Arguments arguments) throws IOException, RocksDBException {
    RocksDB.loadLibrary();
    final List<Path> folders;
    try (Stream<Path> files = Files.walk(Path.of(arguments.text("state")))) {
      folders = files.filter(file -> file.getFileName().toString().equals("CURRENT")).map(Path::getParent).toList();
    }
    final Map<String, Totals> stores = new TreeMap<>();
    for (final Path folder : folders) {
      add(folder, stores.computeIfAbsent(storeName(folder), name -> new Totals()));
    }
    stores.forEach((name, totals) -> System.out.println(name + ": " + totals));

    final String file = arguments.text("result", "");
    final Totals readings = stores.get(Pipeline.READINGS_STORE);
    if (!file.isEmpty() && readings != null) {
      final Properties result = new Properties();
      try (var in = Files.newInputStream(Path.of(file))) {
        result.load(in);
      }
      result.setProperty("runs", Double.toString(readings.runs / (double) readings.databases));
      result.setProperty("store-mib", Double.toString(readings.bytes / MIB));
      result.setProperty("filter-mib", Double.toString(readings.filterBytes / MIB));
      result.setProperty("entries", Long.toString(readings.entries));
      try (var out = Files.newOutputStream(Path.of(file))) {
        result.store(out, null);
      }
    }
  }

  /** The store that a folder …/STORE/STORE.SEGMENT or …/STORE belongs to. */
  private static String storeName(final Path folder) {
    final String name = folder.getFileName().toString();
    final int dot = name.lastIndexOf('.');
    return dot < 0 ? name : name.substring(0, dot);
  }

  private static void add(final Path folder, final Totals totals) throws RocksDBException {
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    try (Options options = new Options();
        DBOptions dbOptions = new DBOptions()) {
      for (final byte[] name : RocksDB.listColumnFamilies(options, folder.toString())) {
        families.add(new ColumnFamilyDescriptor(name));
      }
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      try (RocksDB db = RocksDB.openReadOnly(dbOptions, folder.toString(), families, handles)) {
        for (final ColumnFamilyHandle handle : handles) {
          totals.add(db, handle);
        }
        totals.databases++;
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
  }

  private static final class Totals {
    private long databases;
    private long runs;
    private long files;
    private long bytes;
    private long entries;
    private long filterBytes;

    /** Adds a column family, unless it is the one with Kafka's offsets in the changelog. */
    void add(final RocksDB db, final ColumnFamilyHandle handle) throws RocksDBException {
      if (new String(handle.getName(), StandardCharsets.UTF_8).equals("offsets")) {
        return;
      }
      final List<LiveFileMetaData> live = new ArrayList<>();
      for (final LiveFileMetaData file : db.getLiveFilesMetaData()) {
        if (Arrays.equals(file.columnFamilyName(), handle.getName())) {
          live.add(file);
        }
      }
      files += live.size();
      bytes += live.stream().mapToLong(LiveFileMetaData::size).sum();
      // Each file of level 0 is a sorted run, and so is each other level.
      runs += live.stream().filter(file -> file.level() == 0).count();
      runs += live.stream().mapToInt(LiveFileMetaData::level).filter(level -> level > 0).distinct().count();
      for (final TableProperties properties : db.getPropertiesOfAllTables(handle).values()) {
        entries += properties.getNumEntries();
        filterBytes += properties.getFilterSize();
      }
    }

    @Override
    public String toString() {
      return String.format(
          "%d databases, %d files, %.1f sorted runs each, %,d entries, %.1f MiB, filters %.1f MiB (%.1f bits per key)",
          databases,
          files,
          runs / (double) databases,
          entries,
          bytes / MIB,
          filterBytes / MIB,
          8.0 * filterBytes / Math.max(1, entries));
    }
  }
}
