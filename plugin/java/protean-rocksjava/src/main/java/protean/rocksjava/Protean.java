package protean.rocksjava;

import java.util.List;
import java.util.Objects;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Protean, range filters for RocksDB, in a Java program that has RocksDB from {@code rocksdbjni}.
 *
 * <p>{@link #load} brings it into the process. From then on {@code ProteanTable} may be named wherever RocksDB takes options
 * as text, OPTIONS files too, and {@link ProteanTableConfig} is its table for programs that build their options in code.
 * The other functions ask an open DB. All of them are thread safe.
 */
public final class Protean {
  private static volatile boolean loaded;

  private Protean() {}

  /**
   * Loads RocksDB, if it has not been loaded, and the native libraries of Protean for its version: from the folder that the
   * system property {@code protean.library.path} names, else from the JAR of this class, else from
   * {@code java.library.path}. Those in the JAR go by way of a folder in {@code java.io.tmpdir}, which is removed at once.
   * May be called any number of times, by any thread; only the first call does something. What is loaded stays until the
   * process ends.
   *
   * @throws UnsatisfiedLinkError if that cannot be; it says why, and what to do. Nothing has changed then, and it may be
   *     tried again.
   */
  public static void load() {
    if (!loaded) {
      load(new NativeLibraries());
    }
  }

  /** As {@link #load()}, with libraries that a test has chosen. */
  static synchronized void load(final NativeLibraries libraries) {
    if (loaded) {
      return;
    }
    libraries.checkPlatform();
    RocksDB.loadLibrary();
    final RocksDB.Version version = RocksDB.rocksdbVersion();
    libraries.load(version.getMajor() + "." + version.getMinor() + "." + version.getPatch());
    if (!Native.initialize(OptionsUtil.class, ProteanTableConfig.class)) {
      throw NativeLibraries.refused();
    }
    loaded = true;
  }

  /** Whether it has been loaded; does not try. */
  static boolean isLoaded() {
    return loaded;
  }

  /**
   * Whether Protean is loaded; tries {@link #load} if it is not. For programs that go on without.
   *
   * @return false if {@link #load} throws
   */
  public static boolean isAvailable() {
    return unavailableReason() == null;
  }

  /**
   * Why Protean cannot be loaded.
   *
   * @return what {@link #load}, or RocksDB as it is loaded, says when it throws; null if Protean is loaded
   */
  public static String unavailableReason() {
    try {
      load();
      return null;
    } catch (final UnsatisfiedLinkError e) {
      return e.getMessage();
    } catch (final RuntimeException e) {
      return e.toString(); // RocksDB could not be loaded.
    }
  }

  /**
   * Which Protean this is, and for which RocksDB it has been compiled.
   *
   * @return a line such as "protean 1.0.0 for RocksDB 10.1.3, ..."
   * @throws UnsatisfiedLinkError as {@link #load}
   */
  public static String version() {
    load();
    return Native.text(Native.version());
  }

  /**
   * Counts the keys in [begin, end) as far as possible without reading them: about a block for each bound is read from each
   * sorted run. What cannot be counted by its filter is scanned; only SuRF can count.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param begin the first key
   * @param end the first key behind the range
   * @return the count, and what it is worth
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, and what reading throws
   * @throws IllegalStateException if the DB or the column family's handle is closed
   */
  public static ApproximateCount approximateCount(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final byte[] begin, final byte[] end) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    Objects.requireNonNull(begin, "begin");
    Objects.requireNonNull(end, "end");
    load();
    return new ApproximateCount(new Decoder(Native.approximateCount(family.dbHandle(), family.handle(), begin, end)));
  }

  /**
   * What the filters of a column family do, as they stand. No file is read.
   *
   * @param db an open DB
   * @param columnFamily one of its column families; null for the default one
   * @return the numbers, which do not change any more
   * @throws RocksDBException as RocksDB does
   * @throws IllegalStateException if the DB or the column family's handle is closed
   */
  public static FilterStatistics filterStatistics(final RocksDB db, final ColumnFamilyHandle columnFamily)
      throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    return new FilterStatistics(new Decoder(Native.filterStatistics(family.dbHandle(), family.handle())));
  }

  /**
   * What the filters of all column families of this process do that have a file open in a folder or below it: for those who
   * know where DBs are, but do not get hold of them. Counts go when a DB is closed, so the sums may fall. No file is read.
   *
   * @param folder spelt as in the names that the DBs were opened by
   * @return the sums, which do not change any more
   */
  public static FilterStatistics.Sums filterSums(final String folder) {
    Objects.requireNonNull(folder, "folder");
    load();
    return FilterStatistics.Sums.of(new Decoder(Native.filterSums(Native.bytes(folder))));
  }

  /**
   * The statistics of any number of column families, of any number of DBs, for Prometheus: each of its metrics stands in the
   * text once. The names of metrics begin with {@code protean_filter_}; their labels are db, column_family, level, seek
   * ("closed" or "open"), and outcome or reason.
   *
   * @param columnFamilies of DBs that are open
   * @return text in Prometheus' format (0.0.4)
   * @throws RocksDBException as RocksDB does
   * @throws IllegalStateException if a DB or a column family's handle is closed
   */
  public static String prometheus(final List<ColumnFamily> columnFamilies) throws RocksDBException {
    load();
    final long[] dbs = columnFamilies.stream().mapToLong(ColumnFamily::dbHandle).toArray();
    final long[] handles = columnFamilies.stream().mapToLong(ColumnFamily::handle).toArray();
    return Native.text(Native.prometheus(dbs, handles));
  }

  /**
   * Gives the SST files new filters whose filters fail the queries of today, and would do better if they were built now. Each
   * of them is rewritten by a compaction of its own into its own level, the most useful ones first. Takes its time; reads and
   * writes may go on meanwhile.
   *
   * @param db an open DB, which must not be closed before this returns
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable} with a filter policy of Protean;
   *     null for the default one
   * @param options what may be done
   * @return what has been done, or, in a dry run, what would be
   * @throws RocksDBException {@code InvalidArgument} for another table or policy, {@code NotSupported} where there can be no
   *     range filters or the DB is open for reading only, and what RocksDB throws when it can write no more
   * @throws IllegalStateException if the DB or the column family's handle is closed
   */
  public static RefreshResult refreshFilters(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final RefreshOptions options) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    return new RefreshResult(new Decoder(Native.refreshFilters(family.dbHandle(), family.handle(), options.dryRun(),
        options.maxBytes(), options.bytesPerSecond(), options.minGain(), options.paybackSeconds(), options.progress())));
  }

  /**
   * A column family of an open DB.
   *
   * @param db the DB, which must be open whenever this is used
   * @param columnFamily one of its column families, which must be open as well; null for the default one
   */
  public record ColumnFamily(RocksDB db, ColumnFamilyHandle columnFamily) {
    /**
     * Takes a DB and one of its column families.
     *
     * @param db the DB
     * @param columnFamily the column family, or null
     */
    public ColumnFamily {
      Objects.requireNonNull(db, "db");
    }

    private long dbHandle() {
      if (!db.isOwningHandle()) {
        throw new IllegalStateException("the DB is closed");
      }
      return db.getNativeHandle();
    }

    // 0 for the default one: its handle is open without being owned, or it is the application's own, which the DB hands on
    // even when it is closed.
    @SuppressWarnings("resource")
    private long handle() {
      if (columnFamily == null) {
        return 0;
      }
      if (columnFamily.isOwningHandle()) {
        return columnFamily.getNativeHandle();
      }
      if (columnFamily.getNativeHandle() != db.getDefaultColumnFamily().getNativeHandle()) {
        throw new IllegalStateException("the column family's handle is closed");
      }
      return 0;
    }
  }
}
