// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.StateStoreContext;
import protean.rocksjava.Facts;
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
  private Facts sums;
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
    addSum("filter-bytes", "The bytes of the range filters of all open files", "filter_bytes");
    addSum("filter-bits-per-key", "The bits that these filters take for a key", "bits_per_key");
    addSum("filtered-files", "The number of open files with a range filter", "used_files");
    addSum("unfiltered-files", "The number of open files without", sums -> sums.get("open_files") - sums.get("used_files"));
    addSum("block-reads-avoided", "The least number of block reads that the filters have avoided", "blocks_avoided");
    addSeeks("bounded-seek", "searches with bounds", "bounded_seeks.");
    addSeeks("unbounded-seek", "searches without bounds", "unbounded_seeks.");
  }

  /** Removes the metrics from the registry. */
  void remove() {
    registry.removeSensor(sensor);
  }

  private void addSeeks(final String kind, final String searches, final String facts) {
    final String of = ", of the files of " + searches;
    addSum(kind + "-negative", "Files that the filter denied" + of, facts + "negatives");
    addSum(kind + "-passed", "Files before which the search ended" + of, facts + "passed");
    addSum(kind + "-true-positive", "Files that were read rightly" + of, facts + "true_positives");
    addSum(kind + "-false-positive", "Files that were read in vain" + of, facts + "false_positives");
  }

  private void addSum(final String name, final String description, final String fact) {
    addSum(name, description, sums -> sums.get(fact));
  }

  private void addSum(final String name, final String description, final ToDoubleFunction<Facts> value) {
    add(name, description, () -> value.applyAsDouble(sums()));
  }

  private void add(final String name, final String description, final DoubleSupplier value) {
    sensor.add(new MetricName(name, GROUP, description, tags), new Value(value));
  }

  /** The sums, cached for a moment, since a reader of one metric usually reads all of them. */
  private synchronized Facts sums() {
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
