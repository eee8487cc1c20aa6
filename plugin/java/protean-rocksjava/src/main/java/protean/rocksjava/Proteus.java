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
 */
public final class Proteus extends RangeFilter {
  /** The parts that a filter may consist of. */
  public enum Design {
    /** A trie, and a set of prefixes: the full Proteus. */
    PROTEUS("protean.Proteus"),
    /** A single set of prefixes, for comparison. */
    ONE_PREFIX("protean.PrefixBloom"),
    /** Two sets of prefixes, for comparison. */
    TWO_PREFIXES("protean.TwoPrefixBloom");

    private final String id;

    Design(final String id) {
      this.id = id;
    }
  }

  /** How sets of prefixes are stored. */
  public enum Amq {
    /** Whichever the model finds better. */
    AUTO("auto"),
    /** Bloom filters: faster to build and to query. */
    BLOOM("bloom"),
    /** Ribbon filters: fewer false positives for the same size. */
    RIBBON("ribbon");

    private final String text;

    Amq(final String text) {
      this.text = text;
    }
  }

  /** How bits are distributed over the files of an LSM tree. */
  public enum LevelBits {
    /** The tree has {@code bitsPerKey} on average; small sorted runs have more. */
    AUTO("auto"),
    /** Each file has {@code bitsPerKey}. */
    EQUAL("equal");

    private final String text;

    LevelBits(final String text) {
      this.text = text;
    }
  }

  /** What answers {@code Get}. */
  public enum Points {
    /** All parts of the filter: the fewest false positives. */
    AUTO("auto"),
    /** A set of the whole keys alone: the time that {@code Get} takes tells no more about stored keys than with a Bloom filter. */
    KEYS("keys");

    private final String text;

    Points(final String text) {
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
   * @param bits bits per key, from 2 to 64, on average over the tree; 12 is a good start
   * @return the policy
   */
  public static Proteus bitsPerKey(final double bits) {
    return new Proteus(Map.of("id", Design.PROTEUS.id, "bits_per_key", text(bits)));
  }

  /**
   * Sets the design; the default is {@link Design#PROTEUS}.
   *
   * @param design the parts that a filter may consist of
   * @return the policy
   */
  public Proteus design(final Design design) {
    return with("id", design.id);
  }

  /**
   * Sets how sets of prefixes are stored; the default is {@link Amq#AUTO}.
   *
   * @param amq how sets of prefixes are stored
   * @return the policy
   */
  public Proteus amq(final Amq amq) {
    return with("amq", amq.text);
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
   * Sets what answers {@code Get}; the default is {@link Points#AUTO}.
   *
   * @param points what answers {@code Get}; {@link Points#KEYS} goes neither with {@link Design#TWO_PREFIXES} nor with a prefix
   *     extractor
   * @return the policy
   */
  public Proteus points(final Points points) {
    return with("points", points.text);
  }

  /**
   * Sets what a false positive costs: the time of the read that it causes. By default, it is what reads of a file's level have
   * cost lately.
   *
   * @param micros the price in microseconds; 1 to 100,000
   * @return the policy
   */
  public Proteus falsePositiveMicros(final int micros) {
    return with("false_positive_price", micros + "us");
  }

  /**
   * Sets the size of all filters together, from which the bits per key follow; the default is 0, no limit.
   *
   * @param bytes the size; 0, or at least 1024
   * @return the policy
   */
  public Proteus filterMemory(final long bytes) {
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
   * Sets the share of queries that are sampled; the default is one in 100.
   *
   * @param queries one in this many queries is looked at, and kept if it found nothing; at least 1
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
   * @param file where they are saved when the DB is closed, and restored from when it is opened; its folder exists, and no
   *     other column family has the same file
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
    // The id comes before the options.
    return "{id=" + options.get("id") + options.entrySet().stream()
        .filter(option -> !option.getKey().equals("id"))
        .map(option -> ";" + option.getKey() + "=" + option.getValue()).collect(Collectors.joining()) + "}";
  }
}
