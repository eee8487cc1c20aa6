package protean.rocksjava;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Objects;
import java.util.function.Predicate;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.RocksDBException;

/**
 * The table with range filters, {@code ProteanTable}, which has all options of the block-based table:
 *
 * <pre>
 * ProteanTableConfig table = new ProteanTableConfig().setRangeFilter(Proteus.bitsPerKey(12));
 * table.setBlockCache(cache);
 * options.setTableFormatConfig(table);
 * </pre>
 *
 * <p>Which filters files get is what {@link #setRangeFilter(RangeFilter)} says, {@value #DEFAULT_RANGE_FILTER} if it is not
 * called, whether {@code setFilterPolicy} has been called or not: a Bloom filter that is set there is not used. To have one,
 * set {@code bloomfilter:10} as the range filter, or as one of {@link Levels}. {@code setPartitionFilters(true)} with a filter
 * policy of Protean is refused by {@code RocksDB.open}.
 *
 * <p>Like RocksDB's own, an object of this class must not be changed by two threads at once, owns nothing, and may be given
 * to any number of options; what is changed afterwards is not seen by them. The cache must not be closed before it has been
 * given to options.
 */
public class ProteanTableConfig extends BlockBasedTableConfig {
  /** The range filter of a table that has not been given one. */
  public static final String DEFAULT_RANGE_FILTER = "proteus:12";

  private String rangeFilter = DEFAULT_RANGE_FILTER;
  private String sampleGroup = "";

  /**
   * With the options that RocksDB gives its block-based table, and {@value #DEFAULT_RANGE_FILTER}.
   *
   * @throws UnsatisfiedLinkError as {@link Protean#load}
   */
  public ProteanTableConfig() {
    Protean.load();
  }

  /**
   * Says which filters new files get.
   *
   * @param filter a filter policy
   * @return this
   * @throws IllegalArgumentException if there is no such policy, or it does not allow its options; the message says what is
   *     allowed. Then nothing has changed
   */
  public ProteanTableConfig setRangeFilter(final RangeFilter filter) {
    return setRangeFilter(filter.toString());
  }

  /**
   * Says which filters new files get.
   *
   * @param policy a filter policy as RocksDB reads it in an options string, such as {@code proteus:12}; {@code nullptr}: none
   * @return this
   * @throws IllegalArgumentException if there is no such policy, or it does not allow its options; the message says what is
   *     allowed. Then nothing has changed
   */
  public ProteanTableConfig setRangeFilter(final String policy) {
    checkRangeFilter(policy);
    rangeFilter = policy;
    return this;
  }

  /**
   * Which filters new files get.
   *
   * @return the filter policy as RocksDB reads it in an options string
   */
  public String rangeFilter() {
    return rangeFilter;
  }

  /**
   * Lets tables share the samples of their queries, by which filters of Proteus are designed: those of all column families of
   * the same name whose tables belong to the same group, and have the same range filter in the same words. So a new DB, such
   * as the next one of a row of DBs for a day each, begins with what the others have learned. A group is there as long as one
   * of its tables is.
   *
   * @param group any name; an empty one: no group
   * @return this
   */
  public ProteanTableConfig setSampleGroup(final String group) {
    sampleGroup = Objects.requireNonNull(group, "group");
    return this;
  }

  /**
   * With which other tables samples are shared.
   *
   * @return the group; an empty string if there is none
   */
  public String sampleGroup() {
    return sampleGroup;
  }

  /**
   * Makes sure that a filter policy can be set.
   *
   * @param policy a filter policy as RocksDB reads it in an options string
   * @throws IllegalArgumentException if there is no such policy, or it does not allow its options
   * @throws UnsatisfiedLinkError as {@link Protean#load}
   */
  public static void checkRangeFilter(final String policy) {
    Objects.requireNonNull(policy, "policy");
    Protean.load();
    try {
      Native.checkPolicy(Native.bytes(policy));
    } catch (final RocksDBException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /**
   * For other classes that extend {@code BlockBasedTableConfig}: makes a {@code ProteanTable} of the table that
   * {@code super.newTableFactoryHandle()} has returned. Its filter policy is replaced.
   *
   * @param tableFactory the handle of a block-based table, which this takes over, whatever comes of it
   * @param policy a filter policy as RocksDB reads it in an options string
   * @param sampleGroup as in {@link #setSampleGroup}
   * @return the handle of the new table, which the caller owns until it returns it to RocksDB
   * @throws IllegalArgumentException if there is no such policy, or it does not allow its options
   * @throws UnsatisfiedLinkError as {@link Protean#load}; then nothing has been taken over
   */
  public static long toProtean(final long tableFactory, final String policy, final String sampleGroup) {
    return toProtean(tableFactory, policy, sampleGroup, false);
  }

  /**
   * For other classes that extend {@code BlockBasedTableConfig}: gives a table all options that another one has, also those
   * that RocksDB's binding has no getter for. Caches are shared.
   *
   * @param from the table with the options
   * @param to the table that gets them
   */
  public static void copyOptions(final BlockBasedTableConfig from, final BlockBasedTableConfig to) {
    copyOptions(from, to, name -> true);
  }

  private static void copyOptions(final BlockBasedTableConfig from, final BlockBasedTableConfig to,
      final Predicate<String> wanted) {
    for (final Field option : BlockBasedTableConfig.class.getDeclaredFields()) {
      if (Modifier.isStatic(option.getModifiers()) || !wanted.test(option.getName())) {
        continue;
      }
      try {
        option.setAccessible(true);
        option.set(to, option.get(from));
      } catch (final IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static long toProtean(final long tableFactory, final String policy, final String sampleGroup,
      final boolean partitionFilters) {
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(sampleGroup, "sampleGroup");
    Protean.load();
    try {
      return Native.toProtean(tableFactory, Native.bytes(policy), Native.bytes(sampleGroup), partitionFilters);
    } catch (final RocksDBException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  protected long newTableFactoryHandle() {
    return toProtean(super.newTableFactoryHandle(), rangeFilter, sampleGroup, partitionFilters());
  }

  /**
   * The table of an OPTIONS file, with the options that RocksDB's binding has read. Called by a native function. A cache is
   * not written to such a file: it is what a new object has.
   */
  static ProteanTableConfig of(final BlockBasedTableConfig read, final byte[] policy) {
    final ProteanTableConfig config = new ProteanTableConfig();
    copyOptions(read, config, name -> !name.startsWith("blockCache") && !name.equals("filterPolicy"));
    config.rangeFilter = Native.text(policy);
    return config;
  }
}
