// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.List;
import java.util.Map;

/**
 * What the filters of a column family do ({@link Protean#filterStatistics}). {@code plugin/filter_statistics.h} explains
 * what is counted, and when. Immutable.
 */
public final class FilterStatistics {
  /**
   * Seeks of one kind, by their outcome.
   *
   * @param negatives the filter knew that nothing is in the range, and the file was not read
   * @param passed the search ended before it came to the file, which was not read
   * @param truePositives the file was searched, rightly so
   * @param falsePositives the file was searched in vain
   * @param reached the positives of files that waited in vain
   */
  public record Seeks(long negatives, long passed, long truePositives, long falsePositives, long reached) {
    static Seeks of(final Facts in, final String group) {
      return new Seeks(in.count(group + "negatives"), in.count(group + "passed"), in.count(group + "true_positives"),
          in.count(group + "false_positives"), in.count(group + "reached"));
    }

    /**
     * Files that were not read. Each would have cost at least one data block.
     *
     * @return their number
     */
    public long avoided() {
      return negatives + passed;
    }

    /**
     * Seeks that asked a filter.
     *
     * @return their number
     */
    public long asked() {
      return avoided() + truePositives + falsePositives;
    }

    /**
     * The share of false positives among the seeks for which the file had nothing.
     *
     * @return the rate; negative if there are no such seeks
     */
    public double fpr() {
      final long useless = avoided() + falsePositives;
      return useless == 0 ? -1 : (double) falsePositives / useless;
    }
  }

  /**
   * Reads of files by {@code Get} and {@code multiGet}, by what their filters answered.
   *
   * @param unasked no filter answered
   * @param negatives the filter knew that the key is not in the file, which was not read
   * @param truePositives the file was read, rightly so
   * @param falsePositives the file was read in vain
   */
  public record Lookups(long unasked, long negatives, long truePositives, long falsePositives) {
    static Lookups of(final Facts in, final String group) {
      return new Lookups(in.count(group + "unasked"), in.count(group + "negatives"), in.count(group + "true_positives"),
          in.count(group + "false_positives"));
    }

    /**
     * Reads for which a filter was asked.
     *
     * @return their number
     */
    public long asked() {
      return negatives + truePositives + falsePositives;
    }

    /**
     * The share of false positives among the reads for which the file had nothing.
     *
     * @return the rate; negative if there are no such reads
     */
    public double fpr() {
      final long useless = negatives + falsePositives;
      return useless == 0 ? -1 : (double) falsePositives / useless;
    }
  }

  /**
   * The open files of a level, or of all levels. The numbers from {@code filterBlocksLoaded} on include files
   * that are closed now.
   *
   * @param openFiles their number
   * @param entries in them, including versions and deletions
   * @param unusedFiles files whose filters are not used, by the reason
   * @param keys in the filters that are used
   * @param filterBytes the size of these filters
   * @param predictedFpr the mean of the false positive rates that models predict; negative if none is known
   * @param filesByBasis files whose filters are used, by what the design is based on: samples, keys, or prescribed
   * @param modelMicros the time that it took to design these filters
   * @param filterBlocksLoaded filter blocks that were read
   * @param filterBytesLoaded the bytes of these blocks
   * @param filterLoadsFailed filter blocks that could not be read, or were found to be damaged
   * @param boundedSeeks seeks with a bound in their direction
   * @param unboundedSeeks seeks without such a bound
   * @param gets reads by {@code Get} and {@code multiGet}
   */
  public record Sums(long openFiles, long entries, Map<String, Long> unusedFiles, long keys, long filterBytes, double predictedFpr,
      Map<String, Long> filesByBasis, long modelMicros, long filterBlocksLoaded, long filterBytesLoaded,
      long filterLoadsFailed, Seeks boundedSeeks, Seeks unboundedSeeks, Lookups gets) {
    static Sums of(final Facts in, final String group) {
      return new Sums(in.count(group + "open_files"), in.count(group + "entries"), in.group(group + "unused_files."),
          in.count(group + "keys"), in.count(group + "filter_bytes"), in.rate(group + "predicted_fpr"),
          in.group(group + "files_by_basis."), in.count(group + "model_micros"), in.count(group + "filter_blocks_loaded"),
          in.count(group + "filter_bytes_loaded"), in.count(group + "filter_loads_failed"),
          Seeks.of(in, group + "bounded_seeks."), Seeks.of(in, group + "unbounded_seeks."),
          Lookups.of(in, group + "gets."));
    }

    /**
     * The size of the filters.
     *
     * @return bits per key; 0 if there are no keys
     */
    public double bitsPerKey() {
      return keys == 0 ? 0 : 8.0 * filterBytes / keys;
    }

    /**
     * The data blocks that seeks did not read.
     *
     * @return the minimum number of blocks
     */
    public long blocksAvoided() {
      return boundedSeeks.avoided() + unboundedSeeks.avoided();
    }
  }

  /**
   * A level of the tree.
   *
   * @param level that files were opened for; -1 if unknown
   * @param sums of its files
   */
  public record Level(int level, Sums sums) {
    static Level of(final Facts in) {
      return new Level((int) in.rate("level"), Sums.of(in, ""));
    }
  }

  /**
   * An open file.
   *
   * @param path of the file
   * @param level that it was opened for
   * @param unused why its filter is not used; empty if it is
   * @param entries in it, including versions and deletions
   * @param keys in its filter
   * @param filterBytes the size of its filter
   * @param kind of its filter, such as "Proteus"
   * @param design the design of its filter, for people
   * @param basis what the design is based on, for people
   * @param predictedFpr the false positive rate that the model predicts; negative if there is none
   * @param boundedSeeks seeks with a bound in their direction
   * @param unboundedSeeks seeks without such a bound
   */
  public record File(String path, int level, String unused, long entries, long keys, long filterBytes, String kind,
      String design, String basis, double predictedFpr, Seeks boundedSeeks, Seeks unboundedSeeks) {
    static File of(final Facts in) {
      return new File(in.text("path"), (int) in.rate("level"), in.text("unused"), in.count("entries"), in.count("keys"),
          in.count("filter_bytes"), in.text("filter.kind"), in.text("filter.design"), in.text("filter.basis"),
          in.rate("filter.predicted_fpr"), Seeks.of(in, "bounded_seeks."), Seeks.of(in, "unbounded_seeks."));
    }
  }

  /**
   * What the {@code Statistics} of the options say about {@code Get}, for all column families of the DB.
   *
   * @param known whether there is a {@code Statistics}
   * @param negatives files that were not read
   * @param truePositives files that were read, and have the key
   * @param falsePositives files that were read, and do not have it
   */
  public record TickerGets(boolean known, long negatives, long truePositives, long falsePositives) {
    static TickerGets of(final Facts in) {
      return new TickerGets(in.rate("ticker_gets.negatives") >= 0, in.count("ticker_gets.negatives"),
          in.count("ticker_gets.true_positives"), in.count("ticker_gets.false_positives"));
    }
  }

  /**
   * The queue of sample queries that filters are designed for.
   *
   * @param exists whether there is a queue; if not, the policy needs no samples
   * @param held queries in it
   * @param capacity the maximum number of queries
   * @param sampleEvery one in this many empty queries is recorded
   * @param recorded queries ever recorded
   * @param sampled the recorded queries that were neither seeded nor restored
   * @param dropped samples that were lost because another thread used the queue, or because they were too long
   * @param ageSeconds since the queue was created, or restored
   */
  public record Samples(boolean exists, long held, long capacity, long sampleEvery, long recorded, long sampled, long dropped,
      double ageSeconds) {
    static Samples of(final Facts in) {
      return new Samples(in.rate("samples.capacity") >= 0, in.count("samples.held"), in.count("samples.capacity"),
          in.count("samples.sample_every"), in.count("samples.recorded"), in.count("samples.sampled"),
          in.count("samples.dropped"), Math.max(in.rate("samples.age_seconds"), 0));
    }
  }

  /**
   * Filters that were built for new files since the DB was opened.
   *
   * @param filters their number
   * @param keys in them
   * @param filterBytes their size
   * @param modelMicros the time that it took to choose designs
   * @param buildMicros the time that it took to build the filters, once their keys were known
   */
  public record Builds(long filters, long keys, long filterBytes, long modelMicros, long buildMicros) {
    static Builds of(final Facts in) {
      return new Builds(in.count("builds.filters"), in.count("builds.keys"), in.count("builds.filter_bytes"),
          in.count("builds.model_micros"), in.count("builds.build_micros"));
    }
  }

  /**
   * What refreshing of filters has done since the DB was opened.
   *
   * @param runs refreshes that have ended
   * @param failures the part of them that ended with an error
   * @param lastEndUnixTime when the last one ended, in seconds since 1970; 0 before that
   * @param filesRewritten files that got a new filter
   * @param bytesRead of files, to learn their keys
   * @param bytesRewritten of files
   * @param running whether filters are being refreshed now
   * @param bytes of the files when that refresh began; 0 if none is running
   * @param bytesDecided of the files whose outcome is known
   * @param runningSeconds the time since that refresh began
   * @param secondsLeft how long it will go on at its pace; negative if that is unknown
   */
  public record Refreshes(long runs, long failures, long lastEndUnixTime, long filesRewritten, long bytesRead,
      long bytesRewritten, boolean running, long bytes, long bytesDecided, double runningSeconds, double secondsLeft) {
    static Refreshes of(final Facts in) {
      return new Refreshes(in.count("refresh.runs"), in.count("refresh.failures"), in.count("refresh.last_end_unix_time"),
          in.count("refresh.files_rewritten"), in.count("refresh.bytes_read"), in.count("refresh.bytes_rewritten"),
          in.flag("refresh.running"), in.count("refresh.bytes"), in.count("refresh.bytes_decided"),
          in.rate("refresh.running_seconds"), in.rate("refresh.seconds_left"));
    }
  }

  private final Facts facts;
  private final String db;
  private final String columnFamily;
  private final long liveFiles;
  private final Sums total;
  private final List<Level> levels;
  private final List<File> files;
  private final TickerGets tickerGets;
  private final Builds builds;
  private final Samples samples;
  private final Refreshes refreshes;
  private final String text;
  private final String json;
  private final String prometheus;

  FilterStatistics(final Decoder in) {
    facts = new Facts(in);
    db = facts.text("db");
    columnFamily = facts.text("column_family");
    liveFiles = facts.count("live_files");
    total = Sums.of(facts, "total.");
    levels = facts.levels().stream().map(Level::of).toList();
    files = facts.files().stream().map(File::of).toList();
    tickerGets = TickerGets.of(facts);
    builds = Builds.of(facts);
    samples = Samples.of(facts);
    refreshes = Refreshes.of(facts);
    text = in.text();
    json = in.text();
    prometheus = in.text();
  }

  /**
   * All numbers and texts, by the names that they have in JSON and in all languages; also those that no function here has.
   *
   * @return the facts
   */
  public Facts facts() {
    return facts;
  }

  /**
   * The folder of the DB.
   *
   * @return its name
   */
  public String db() {
    return db;
  }

  /**
   * The column family.
   *
   * @return its name
   */
  public String columnFamily() {
    return columnFamily;
  }

  /**
   * The files in the tree, open or not.
   *
   * @return their number
   */
  public long liveFiles() {
    return liveFiles;
  }

  /**
   * The sums over all levels.
   *
   * @return the sums
   */
  public Sums total() {
    return total;
  }

  /**
   * The levels, in order.
   *
   * @return a list that cannot be changed
   */
  public List<Level> levels() {
    return levels;
  }

  /**
   * The open files, by level and path.
   *
   * @return a list that cannot be changed
   */
  public List<File> files() {
    return files;
  }

  /**
   * The statistics of {@code Get}.
   *
   * @return the numbers
   */
  public TickerGets tickerGets() {
    return tickerGets;
  }

  /**
   * The filters that were built.
   *
   * @return their number, and the time that it took
   */
  public Builds builds() {
    return builds;
  }

  /**
   * What refreshing has done, or is doing.
   *
   * @return the numbers
   */
  public Refreshes refreshes() {
    return refreshes;
  }

  /**
   * The sample queries.
   *
   * @return the state of their queue
   */
  public Samples samples() {
    return samples;
  }

  /** A table for people, of several lines. */
  @Override
  public String toString() {
    return text;
  }

  /**
   * Everything as a JSON object. Unknown rates are absent.
   *
   * @return the text
   */
  public String toJson() {
    return json;
  }

  /**
   * Everything except the files, as text for Prometheus. For several column families, use {@link Protean#prometheus}: a
   * metric may occur only once in a text.
   *
   * @return text in Prometheus' format (0.0.4)
   */
  public String toPrometheus() {
    return prometheus;
  }
}
