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
    /** A trie, and a set of prefixes: all that Proteus can be. */
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
    /** Faster to build and to ask. */
    BLOOM("bloom"),
    /** Fewer false positives of the same size. */
    RIBBON("ribbon");

    private final String text;

    Amq(final String text) {
      this.text = text;
    }
  }

  /** How bits are dealt out to the files of a tree. */
  public enum LevelBits {
    /** The tree has {@code bitsPerKey} on average, small sorted runs have more. */
    AUTO("auto"),
    /** Each file has {@code bitsPerKey}. */
    EQUAL("equal");

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
   * Filters of that size.
   *
   * @param bits for each key, from 2 to 64, on average over the tree; 12 is a good start
   * @return the policy
   */
  public static Proteus bitsPerKey(final double bits) {
    return new Proteus(Map.of("id", Design.PROTEUS.id, "bits_per_key", text(bits)));
  }

  /**
   * With another design than {@link Design#PROTEUS}.
   *
   * @param design of what a filter may consist
   * @return the policy
   */
  public Proteus design(final Design design) {
    return with("id", design.id);
  }

  /**
   * With another kind of sets than {@link Amq#AUTO}.
   *
   * @param amq how sets of prefixes are stored
   * @return the policy
   */
  public Proteus amq(final Amq amq) {
    return with("amq", amq.text);
  }

  /**
   * With another distribution of bits than {@link LevelBits#AUTO}.
   *
   * @param levelBits how bits are dealt out
   * @return the policy
   */
  public Proteus levelBits(final LevelBits levelBits) {
    return with("level_bits", levelBits.text);
  }

  /**
   * With another number of sample queries than 20,000.
   *
   * @param queries how many are kept, the latest ones; at least 1
   * @return the policy
   */
  public Proteus sampleCapacity(final long queries) {
    return with("sample_capacity", String.valueOf(queries));
  }

  /**
   * With another share of samples than one in 100.
   *
   * @param queries one in this many queries is looked at, and kept if it found nothing; at least 1
   * @return the policy
   */
  public Proteus sampleEvery(final long queries) {
    return with("sample_every", String.valueOf(queries));
  }

  /**
   * With queries to start with.
   *
   * @param file in which they are, one a line
   * @return the policy
   * @throws IllegalArgumentException if RocksDB's options cannot hold the file's name
   */
  public Proteus seedFile(final Path file) {
    return with("seed_file", text(file));
  }

  /**
   * With samples that outlive the process.
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
    // What it is comes before its options.
    return "{id=" + options.get("id") + options.entrySet().stream()
        .filter(option -> !option.getKey().equals("id"))
        .map(option -> ";" + option.getKey() + "=" + option.getValue()).collect(Collectors.joining()) + "}";
  }
}
