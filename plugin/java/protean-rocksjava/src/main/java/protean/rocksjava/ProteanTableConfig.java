// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Objects;
import java.util.function.Predicate;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Filter;
import org.rocksdb.RocksDBException;

/**
 * The table with range filters, {@code ProteanTable}, which has all options of the block-based table:
 *
 * <pre>
 * ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("proteus:12");
 * table.setBlockCache(cache);
 * options.setTableFormatConfig(table);
 * </pre>
 *
 * <p>{@link #setRangeFilter} sets which filters files get; without a call, {@value #DEFAULT_RANGE_FILTER}.
 * {@code setFilterPolicy} is refused. To have a Bloom filter, set {@code bloomfilter:10} as the range filter, or as that
 * of some levels. {@code setPartitionFilters} concerns such filters alone: where filters are in the block cache,
 * those of Protean are always in parts.
 *
 * <p>Like RocksDB's own, an object of this class must not be changed by two threads at once, owns nothing, and can be given
 * to any number of options; options do not see later changes. The cache must not be closed before the table has been given
 * to options.
 */
public class ProteanTableConfig extends BlockBasedTableConfig {
  /** The default range filter. */
  public static final String DEFAULT_RANGE_FILTER = "proteus:12";

  private String rangeFilter = DEFAULT_RANGE_FILTER;
  private String sampleGroup = "";
  private boolean rangeFilters = true;

  /**
   * A table with RocksDB's default options of the block-based table, and {@value #DEFAULT_RANGE_FILTER}.
   *
   * @throws UnsatisfiedLinkError as {@link Protean#load}
   */
  public ProteanTableConfig() {
    Protean.load();
  }

  /**
   * Is refused: {@link #setRangeFilter} sets which filters files get.
   *
   * @param filter any filter
   * @return nothing
   * @throws UnsupportedOperationException always, unless the filter is null
   */
  @Override
  public BlockBasedTableConfig setFilterPolicy(final Filter filter) {
    if (filter == null) {
      return this;
    }
    throw new UnsupportedOperationException("setFilterPolicy is not allowed for ProteanTableConfig; allowed: setRangeFilter, "
        + "such as setRangeFilter(\"bloomfilter:10\") for RocksDB's Bloom filter");
  }

  /**
   * Sets which filters new files get. {@code docs/options.md} has the options of all policies.
   *
   * @param policy a filter policy as RocksDB reads it in an options string: {@code proteus:12}, {@code surf:0:8}, {@code
   *     levels:bloomfilter:10,proteus:12}, or with any options <code>{id=protean.Proteus;sample_every=10}</code>; {@code
   *     nullptr}: none, and files that have a filter of Protean keep using it
   * @return this
   * @throws IllegalArgumentException if there is no such policy, or its options are not allowed; the message says what is
   *     allowed. Nothing has changed then
   */
  public ProteanTableConfig setRangeFilter(final String policy) {
    checkRangeFilter(policy);
    rangeFilter = policy;
    return this;
  }

  /** {@return the policy of the filters that new files get, as RocksDB reads it in an options string} */
  public String rangeFilter() {
    return rangeFilter;
  }

  /**
   * Makes tables share the samples of their queries, for which filters of Proteus are designed. The samples are shared by
   * all column families of the same name whose tables belong to the same group and have the same range filter, spelled the
   * same way. So a new DB, such as the next of a series with one DB per day, begins with what the others have learned. A
   * group exists as long as one of its tables does.
   *
   * @param group any name; empty for no group
   * @return this
   */
  public ProteanTableConfig setSampleGroup(final String group) {
    sampleGroup = Objects.requireNonNull(group, "group");
    return this;
  }

  /** {@return the group of tables that share samples; an empty string if there is none} */
  public String sampleGroup() {
    return sampleGroup;
  }

  /**
   * Sets whether filters of Protean are asked; the default is true. While this is false, queries are not sampled, either; files
   * get filters as before. {@link Protean#setTableOption} changes it in an open DB, and the environment variable {@code
   * PROTEAN_RANGE_FILTERS=off} for a process.
   *
   * @param value whether they are asked
   * @return this
   */
  public ProteanTableConfig setRangeFilters(final boolean value) {
    rangeFilters = value;
    return this;
  }

  /** {@return whether filters of Protean are asked} */
  public boolean rangeFilters() {
    return rangeFilters;
  }

  /**
   * Checks that a filter policy can be set.
   *
   * @param policy a filter policy as RocksDB reads it in an options string
   * @throws IllegalArgumentException if there is no such policy, or its options are not allowed
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
   * @param tableFactory the handle of a block-based table, which this takes ownership of even if it throws
   * @param policy a filter policy as RocksDB reads it in an options string
   * @param sampleGroup as in {@link #setSampleGroup}
   * @return the handle of the new table, which the caller owns until it returns it to RocksDB
   * @throws IllegalArgumentException if there is no such policy, or its options are not allowed
   * @throws UnsatisfiedLinkError as {@link Protean#load}; ownership has not been taken then
   */
  public static long toProtean(final long tableFactory, final String policy, final String sampleGroup) {
    return toProtean(tableFactory, policy, sampleGroup, true);
  }

  private static long toProtean(final long tableFactory, final String policy, final String sampleGroup,
      final boolean rangeFilters) {
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(sampleGroup, "sampleGroup");
    Protean.load();
    try {
      return Native.toProtean(tableFactory, Native.bytes(policy), Native.bytes(sampleGroup), rangeFilters);
    } catch (final RocksDBException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /**
   * For other classes that extend {@code BlockBasedTableConfig}: copies all options of one table to another, including
   * those that RocksDB's binding has no getter for. Caches are shared.
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

  @Override
  protected long newTableFactoryHandle() {
    return toProtean(super.newTableFactoryHandle(), rangeFilter, sampleGroup, rangeFilters);
  }

  /**
   * The table in an OPTIONS file, with the options that RocksDB's binding has read. Called by a native function. OPTIONS
   * files do not contain caches: the cache is that of a new object.
   */
  static ProteanTableConfig of(final BlockBasedTableConfig read, final byte[] policy, final boolean rangeFilters) {
    final ProteanTableConfig config = new ProteanTableConfig();
    copyOptions(read, config, name -> !name.startsWith("blockCache") && !name.equals("filterPolicy"));
    config.rangeFilter = Native.text(policy);
    config.rangeFilters = rangeFilters;
    return config;
  }
}
