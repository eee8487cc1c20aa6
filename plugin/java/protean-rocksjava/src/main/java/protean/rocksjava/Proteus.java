// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Filters of a given size that design themselves from each file's keys and a sample of recent queries:
 *
 * <pre>Proteus.bitsPerKey(12).samplesFile(Path.of("/data/samples"))</pre>
 *
 * <p>Each function returns a new policy with another option. Values that are not allowed are refused by
 * {@link ProteanTableConfig#setRangeFilter(RangeFilter)}. What the options do is described in {@code docs/tuning.md}.
 * {@link Protean#setTableOption} changes most of them in an open DB: all but {@code point_lookups_use_whole_keys}, {@code
 * seed_file} and {@code samples_file}.
 */
public final class Proteus extends RangeFilter {
  /** How sets of prefixes are stored. */
  public enum PrefixFilterType {
    /** A model chooses for each file. */
    AUTO("kAuto"),
    /** Bloom filters: faster to build and to query. */
    BLOOM("kBloom"),
    /** Ribbon filters: fewer false positives for the same size. */
    RIBBON("kRibbon");

    private final String text;

    PrefixFilterType(final String text) {
      this.text = text;
    }
  }

  /** How bits are distributed over the files of an LSM tree. */
  public enum LevelBits {
    /** The tree has {@code bitsPerKey} on average; small sorted runs have more. */
    AUTO("kAuto"),
    /** Each file has {@code bitsPerKey}. */
    EQUAL("kEqual");

    private final String text;

    LevelBits(final String text) {
      this.text = text;
    }
  }

  private final Map<String, String> options;

  private Proteus(final Map<String, String> options) {
    this.options = options;
  }

  /**
   * Filters of a given size.
   *
   * @param bits bits per key, from 2 to 64, on average over the tree. 12, the default of {@code proteus}, lets about one bounded
   *     seek in 100 through that finds nothing in a file, 14 one in 500
   * @return the policy
   */
  public static Proteus bitsPerKey(final double bits) {
    return new Proteus(Map.of("bits_per_key", text(bits)));
  }

  /**
   * Sets how sets of prefixes are stored; the default is {@link PrefixFilterType#AUTO}.
   *
   * @param type how sets of prefixes are stored
   * @return the policy
   */
  public Proteus prefixFilterType(final PrefixFilterType type) {
    return with("prefix_filter_type", type.text);
  }

  /**
   * Sets the distribution of bits; the default is {@link LevelBits#AUTO}.
   *
   * @param levelBits how bits are distributed
   * @return the policy
   */
  public Proteus levelBits(final LevelBits levelBits) {
    return with("level_bits", levelBits.text);
  }

  /**
   * Sets whether {@code Get} asks a set of the whole keys alone, so that the time that it takes tells no more about stored keys
   * than with a Bloom filter; the default is false. Not with a prefix extractor.
   *
   * @param wholeKeys whether whole keys alone are asked
   * @return the policy
   */
  public Proteus pointLookupsUseWholeKeys(final boolean wholeKeys) {
    return with("point_lookups_use_whole_keys", String.valueOf(wholeKeys));
  }

  /**
   * Sets what a false positive costs: the time of the read that it causes. The default is 0: what reads of a file's level have
   * cost lately.
   *
   * @param micros the cost in microseconds; 0 to 100,000
   * @return the policy
   */
  public Proteus falsePositiveCostMicros(final int micros) {
    return with("false_positive_cost_micros", String.valueOf(micros));
  }

  /**
   * Sets the size of all filters together, from which the bits per key follow; the default is 0, no limit. The
   * distribution of bits has no effect then.
   *
   * @param bytes the size; 0, or 1 KiB to 2^60
   * @return the policy
   */
  public Proteus filterBudgetBytes(final long bytes) {
    return with("filter_budget_bytes", String.valueOf(bytes));
  }

  /**
   * Sets the maximum number of sample queries; the default is 20,000.
   *
   * @param queries the number of latest queries that are kept; at least 1
   * @return the policy
   */
  public Proteus sampleCapacity(final long queries) {
    return with("sample_capacity", String.valueOf(queries));
  }

  /**
   * Sets the share of empty queries, those that find nothing, that are sampled; the default is one in 100.
   *
   * @param queries one in this many empty queries is kept; at least 1
   * @return the policy
   */
  public Proteus sampleEvery(final long queries) {
    return with("sample_every", String.valueOf(queries));
  }

  /**
   * Sets a file of queries to start with. If it is missing or cannot be used, the DB logs that and does without.
   *
   * @param file with one query per line
   * @return the policy
   * @throws IllegalArgumentException if RocksDB's options cannot hold the file's name
   */
  public Proteus seedFile(final Path file) {
    return with("seed_file", text(file));
  }

  /**
   * Sets a file in which samples outlive the process.
   *
   * @param file where they are saved when the DB is closed, and restored from when it is opened; an absolute path,
   *     whose folder exists, and which no other column family has
   * @return the policy
   * @throws IllegalArgumentException if RocksDB's options cannot hold the file's name
   */
  public Proteus samplesFile(final Path file) {
    return with("samples_file", text(file));
  }

  private Proteus with(final String name, final String value) {
    final Map<String, String> all = new TreeMap<>(options);
    all.put(name, value);
    return new Proteus(all);
  }

  @Override
  public String toString() {
    return "{id=protean.Proteus" + options.entrySet().stream()
        .map(option -> ";" + option.getKey() + "=" + option.getValue()).collect(Collectors.joining()) + "}";
  }
}
