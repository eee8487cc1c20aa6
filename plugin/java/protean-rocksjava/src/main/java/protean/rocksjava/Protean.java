// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.Env;
import org.rocksdb.OptionsUtil;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Protean, range filters for RocksDB, in a Java program that has RocksDB from {@code rocksdbjni}.
 *
 * <p>{@link #load} brings Protean into the process. From then on, {@code ProteanTable} can be named wherever RocksDB reads
 * options as text, including OPTIONS files, and {@link ProteanTableConfig} is its table for programs that build their
 * options in code. The other functions ask an open DB. All of them are thread safe, and throw {@code IllegalStateException} if
 * the DB, the column family's handle, or options that they are given are closed.
 */
public final class Protean {
  private static volatile boolean loaded;
  private static Throwable rocksDBFailure; // read and written under the lock of load

  private Protean() {}

  /**
   * Loads RocksDB, if it has not been loaded, and the native libraries of Protean for its version: from the folder that the
   * system property {@code protean.library.path} names, else from the JAR of this class, else from {@code
   * java.library.path}. Libraries in the JAR are extracted to a folder in {@code java.io.tmpdir}, which is removed at once.
   * Can be called any number of times, by any thread; only the first call has an effect. The libraries stay loaded until
   * the process ends.
   *
   * <p>Protean is bound to the RocksDB of the class loader of this class. Other class loaders may have RocksDBs of their
   * own, with Protean or without.
   *
   * @throws UnsatisfiedLinkError if loading fails; the message says why, and what to do. Nothing has changed then, and the
   *     call can be repeated, unless it was RocksDB that could not be loaded: that is not tried again.
   */
  public static void load() {
    if (!loaded) {
      load(new NativeLibraries());
    }
  }

  /** {@link #load()} with libraries that a test has chosen. */
  static synchronized void load(final NativeLibraries libraries) {
    if (loaded) {
      return;
    }
    libraries.platform();
    loadRocksDB();
    final RocksDB.Version version = RocksDB.rocksdbVersion();
    // Other class loaders may have this class, too, and the same RocksDB, in which one of them registers Protean.
    synchronized (RocksDB.class) {
      libraries.load(version.getMajor() + "." + version.getMinor() + "." + version.getPatch(),
          Env.getDefault().getNativeHandle());
    }
    if (!Native.initialize(OptionsUtil.class, ProteanTableConfig.class)) {
      throw NativeLibraries.refused();
    }
    loaded = true;
  }

  /** Loads RocksDB, unless that has failed before: RocksDB's class would then wait for good for its first call to end. */
  private static void loadRocksDB() {
    if (rocksDBFailure == null) {
      try {
        RocksDB.loadLibrary();
        return;
      } catch (final RuntimeException | LinkageError e) {
        rocksDBFailure = e;
      }
    }
    throw NativeLibraries.failure("RocksDB could not be loaded: " + rocksDBFailure, rocksDBFailure);
  }

  /** {@return whether Protean is loaded, after {@link #load} if it was not} For programs that can do without Protean. */
  public static boolean isAvailable() {
    return unavailableReason() == null;
  }

  /** {@return why Protean cannot be loaded: the message of what {@link #load} throws; null if it is loaded} */
  public static String unavailableReason() {
    try {
      load();
      return null;
    } catch (final UnsatisfiedLinkError e) {
      return e.getMessage();
    }
  }

  /**
   * {@return the version of Protean, and the RocksDB that it was compiled for: "protean 1.0.0 for RocksDB 10.1.3, ..."}
   *
   * @throws UnsatisfiedLinkError as {@link #load}
   */
  public static String version() {
    load();
    return Native.text(Native.version());
  }

  /**
   * Counts the keys in a range without reading them: about one block for each bound is read from each sorted run, besides the
   * filters and indexes. Files whose filters cannot count are scanned between the bounds; only SuRF can count. The present
   * state of the DB is counted.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param readOptions which all reads of files obey: deadline, read tier, {@code fillCache}, {@code verifyChecksums} and
   *     readahead size. Their bounds and prefix modes have no effect; null for the default ones
   * @param range with bounds on both sides, or open ends
   * @return the count, and how exact it is
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, {@code NotSupported} for a
   *     snapshot, a timestamp, or the read tier {@code PERSISTED_TIER}, {@code TimedOut} after the deadline, {@code Incomplete}
   *     if {@code BLOCK_CACHE_TIER} does not suffice, or an error of reading
   */
  public static ApproximateCount approximateCount(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final ReadOptions readOptions, final KeyRange range) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    return new ApproximateCount(new Decoder(Native.approximateCount(family.dbHandle(), family.handle(),
        handleOf(readOptions), range.start(), range.limit())));
  }

  /**
   * Whether keys may exist: false says that the column family certainly has no value for the key. Memtables and filters
   * answer; no data block is read. Ask for many keys at once.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param readOptions have a snapshot, for instance, or a read tier that forbids to open files and to read filters: what they
   *     hold is then unknown, so that anything may exist; null for the default
   * @param keys without timestamps
   * @return an answer for each key
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, or an error of reading
   */
  public static boolean[] keysMayExist(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final ReadOptions readOptions, final List<byte[]> keys) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    final byte[][] asked = arrays(keys);
    load();
    return Native.mayExist(family.dbHandle(), family.handle(), handleOf(readOptions), asked, null);
  }

  /**
   * Whether ranges may hold a key that exists, as {@link #keysMayExist}. All ranges are asked in one state of the DB. The
   * bounds and prefix modes of {@code readOptions} have no effect.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param readOptions as in {@link #keysMayExist}
   * @param ranges with bounds on both sides or open ends
   * @return an answer for each range
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, or an error of reading
   */
  public static boolean[] rangesMayExist(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final ReadOptions readOptions, final List<KeyRange> ranges) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    final byte[][][] bounds = KeyRange.bounds(ranges);
    load();
    return Native.mayExist(family.dbHandle(), family.handle(), handleOf(readOptions), bounds[0], bounds[1]);
  }

  /** The keys of a list, none of which may be null. */
  static byte[][] arrays(final List<byte[]> keys) {
    final byte[][] arrays = keys.toArray(new byte[0][]);
    Arrays.stream(arrays).forEach(key -> Objects.requireNonNull(key, "key"));
    return arrays;
  }

  private static long handleOf(final ReadOptions readOptions) {
    if (readOptions == null) {
      return 0;
    }
    if (!readOptions.isOwningHandle()) {
      throw new IllegalStateException("the ReadOptions are closed");
    }
    return readOptions.getNativeHandle();
  }

  /**
   * The current statistics of the filters of a column family. No file is read.
   *
   * @param db an open DB
   * @param columnFamily one of its column families; null for the default one
   * @return an immutable snapshot
   * @throws RocksDBException as RocksDB does
   */
  public static FilterStatistics filterStatistics(final RocksDB db, final ColumnFamilyHandle columnFamily)
      throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    return new FilterStatistics(new Decoder(Native.filterStatistics(family.dbHandle(), family.handle())));
  }

  /**
   * The statistics of the filters of all column families of this process that have a file open in a folder or below it: for
   * callers that know where DBs are, but have no handle of them. The counts of a DB disappear when it is closed, so the
   * sums may fall. No file is read.
   *
   * @param folder in any spelling: symbolic links and relative paths lead to the same one
   * @return what {@code total} has in {@link FilterStatistics}, without that word
   */
  public static Facts filterSums(final String folder) {
    Objects.requireNonNull(folder, "folder");
    load();
    return new Facts(new Decoder(Native.filterSums(Native.bytes(folder))));
  }

  /**
   * The statistics of any number of column families, of any number of DBs, for Prometheus: each metric occurs in the text
   * once. The names of metrics begin with {@code protean_}; their labels are db, column_family, and
   * level.
   *
   * @param columnFamilies of DBs that are open
   * @return text in Prometheus' format (0.0.4)
   * @throws RocksDBException as RocksDB does
   */
  public static String prometheus(final List<ColumnFamily> columnFamilies) throws RocksDBException {
    load();
    final long[] dbs = columnFamilies.stream().mapToLong(ColumnFamily::dbHandle).toArray();
    final long[] handles = columnFamilies.stream().mapToLong(ColumnFamily::handle).toArray();
    return Native.text(Native.prometheus(dbs, handles));
  }

  /**
   * Changes which filters new files of an open DB get. Existing files keep their filters until they are compacted, or until
   * {@link #refreshFilters}. RocksDB writes the policy to the DB's OPTIONS file, and {@link ProteanTableConfig} objects do not
   * change.
   *
   * <p>Another policy object starts with its own sample queries: those that its options name, or none. That table then
   * belongs to no {@linkplain ProteanTableConfig#setSampleGroup sample group}.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param policy a filter policy as in {@link ProteanTableConfig#setRangeFilter}; RocksDB ignores {@code nullptr}
   * @throws IllegalArgumentException if there is no such policy, or its options are not allowed; the message says what is
   *     allowed. Nothing has changed then
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, or an error of writing
   */
  public static void setRangeFilter(final RocksDB db, final ColumnFamilyHandle columnFamily, final String policy)
      throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    ProteanTableConfig.checkRangeFilter(policy);
    Native.setTableOption(family.dbHandle(), family.handle(), Native.bytes("filter_policy"), Native.bytes(policy));
  }

  /**
   * Changes an option of the table in an open DB, which {@code MutableColumnFamilyOptions.parse} does not know: {@code
   * range_filters}, which switches filters off and on again from the next read on, or an option of a Proteus policy, such as
   * {@code filter_policy.bits_per_key}. RocksDB writes it to the DB's OPTIONS file.
   *
   * @param db an open DB
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable}; null for the default one
   * @param name as in an OPTIONS file
   * @param value as in an OPTIONS file
   * @throws RocksDBException {@code InvalidArgument} if the column family has another table, if there is no such option, if it
   *     cannot be changed in an open DB, or if the value is not allowed; or an error of writing. Nothing has changed then
   */
  public static void setTableOption(final RocksDB db, final ColumnFamilyHandle columnFamily, final String name,
      final String value) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    Native.setTableOption(family.dbHandle(), family.handle(), Native.bytes(name), Native.bytes(value));
  }

  /**
   * Gives new filters to the SST files whose filters do badly with current queries, and would do better if they were built
   * now. Each of these files is rewritten by a compaction of its own into its own level, those with the largest gain first.
   * This may take long; the DB can be read and written meanwhile.
   *
   * @param db an open DB, which must not be closed before this returns
   * @param columnFamily one of its column families, whose table is a {@code ProteanTable} with a filter policy of Protean;
   *     null for the default one
   * @param options limits and conditions
   * @return what has been done or, in a dry run, what would be done
   * @throws RefreshException {@code Incomplete} if the progress callback or {@code RocksDB.disableManualCompaction} ended it,
   *     {@code InvalidArgument} for another table or policy, {@code NotSupported} where there can be no range filters or the DB
   *     is open for reading only, and RocksDB's error when it can no longer write; it has what was done before
   * @throws RocksDBException {@code InvalidArgument} for options that are not allowed
   */
  public static RefreshResult refreshFilters(final RocksDB db, final ColumnFamilyHandle columnFamily,
      final RefreshOptions options) throws RocksDBException {
    final ColumnFamily family = new ColumnFamily(db, columnFamily);
    load();
    final RefreshResult.Ended ended = RefreshResult.Ended.of(new Decoder(Native.refreshFilters(family.dbHandle(),
        family.handle(), Native.bytes(options.toString()), options.progress() == null ? null : options)));
    if (ended.error() != null) {
      throw ended.error();
    }
    return ended.result();
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

    long dbHandle() {
      if (!db.isOwningHandle()) {
        throw new IllegalStateException("the DB is closed");
      }
      return db.getNativeHandle();
    }

    // 0 for the default column family: its handle is open without being owned, or it is the application's own, which the DB
    // returns even when the handle is closed.
    @SuppressWarnings("resource")
    long handle() {
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
