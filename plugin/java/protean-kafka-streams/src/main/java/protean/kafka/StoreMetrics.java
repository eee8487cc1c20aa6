// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.StateStoreContext;
import protean.rocksjava.FilterStatistics.Seeks;
import protean.rocksjava.FilterStatistics.Sums;
import protean.rocksjava.Protean;

/**
 * The metrics of one store of one task in the registry of Kafka Streams. The native library must have been loaded. Values
 * are read when a metric is read, by any thread.
 */
final class StoreMetrics {
  static final String GROUP = "stream-protean-metrics";

  private static final long SUMS_FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StreamsMetrics registry;
  private final Sensor sensor;
  private final Map<String, String> tags;
  private final String folder;
  private Sums sums;
  private long sumsRead;

  /** Registers the metrics. {@code folder} has the store's RocksDBs; {@code searches} counts searches with bounds. */
  StoreMetrics(final String store, final StateStoreContext context, final Path folder, final LongSupplier searches) {
    final String thread = Thread.currentThread().getName();
    final String task = context.taskId().toString();
    this.folder = folder.toString();
    tags = new TreeMap<>(Map.of("thread-id", thread, "task-id", task, "store", store));
    registry = context.metrics();
    sensor = registry.addSensor(String.join(".", "protean", thread, task, store), Sensor.RecordingLevel.INFO);

    add("bounded-search-total", "The number of searches of which RocksDB was told where they end", searches::getAsLong);
    addSum("filter-bytes", "The bytes of the range filters of all open files", Sums::filterBytes);
    addSum("filter-bits-per-key", "The bits that these filters take for a key", Sums::bitsPerKey);
    addSum("filtered-files", "The number of open files with a range filter", sums -> sums.openFiles() - unfiltered(sums));
    addSum("unfiltered-files", "The number of open files without", StoreMetrics::unfiltered);
    addSum("block-reads-avoided", "The least number of block reads that the filters have avoided", Sums::blocksAvoided);
    addSeeks("bounded-seek", "searches with bounds", Sums::boundedSeeks);
    addSeeks("unbounded-seek", "searches without bounds", Sums::unboundedSeeks);
  }

  /** Removes the metrics from the registry. */
  void remove() {
    registry.removeSensor(sensor);
  }

  private void addSeeks(
      final String kind, final String searches, final Function<Sums, Seeks> seeks) {
    final String of = ", of the files of " + searches;
    addSum(kind + "-negative", "Files that the filter denied" + of, sums -> seeks.apply(sums).negatives());
    addSum(kind + "-passed", "Files before which the search ended" + of, sums -> seeks.apply(sums).passed());
    addSum(kind + "-true-positive", "Files that were read rightly" + of, sums -> seeks.apply(sums).truePositives());
    addSum(kind + "-false-positive", "Files that were read in vain" + of, sums -> seeks.apply(sums).falsePositives());
  }

  private void addSum(final String name, final String description, final ToDoubleFunction<Sums> value) {
    add(name, description, () -> value.applyAsDouble(sums()));
  }

  private void add(final String name, final String description, final DoubleSupplier value) {
    sensor.add(new MetricName(name, GROUP, description, tags), new Value(value));
  }

  private static long unfiltered(final Sums sums) {
    return sums.unusedFiles().values().stream().mapToLong(Long::longValue).sum();
  }

  /** The sums, cached for a moment, since a reader of one metric usually reads all of them. */
  private synchronized Sums sums() {
    final long now = System.nanoTime();
    if (sums == null || now - sumsRead > SUMS_FRESH_NANOS) {
      sums = Protean.filterSums(folder);
      sumsRead = now;
    }
    return sums;
  }

  /** A metric whose value is kept elsewhere. */
  private record Value(DoubleSupplier value) implements MeasurableStat {
    @Override
    public void record(final MetricConfig config, final double recorded, final long timeMs) {}

    @Override
    public double measure(final MetricConfig config, final long now) {
      return value.getAsDouble();
    }
  }
}
