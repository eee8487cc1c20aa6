package protean.kafka;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.StateStoreContext;

/** The metrics of one store of one task in the registry of Kafka Streams, beside those of the store itself. */
final class StoreMetrics {
  static final String GROUP = "stream-protean-metrics";

  private final StreamsMetrics registry;
  private final Sensor sensor;

  private StoreMetrics(final StreamsMetrics registry, final Sensor sensor) {
    this.registry = registry;
    this.sensor = sensor;
  }

  static StoreMetrics register(final String store, final StateStoreContext context, final LongSupplier searches) {
    final StreamsMetrics registry = context.metrics();
    final String thread = Thread.currentThread().getName();
    final String task = context.taskId().toString();
    final Map<String, String> tags = new TreeMap<>();
    tags.put("thread-id", thread);
    tags.put("task-id", task);
    tags.put("store", store);
    final Sensor sensor =
        registry.addSensor(String.join(".", "protean", thread, task, store), Sensor.RecordingLevel.INFO);
    sensor.add(
        new MetricName(
            "bounded-search-total", GROUP, "The number of searches of which RocksDB was told where they end", tags),
        new Total(searches));
    return new StoreMetrics(registry, sensor);
  }

  void remove() {
    registry.removeSensor(sensor);
  }

  /** A number that is kept elsewhere. */
  private record Total(LongSupplier value) implements MeasurableStat {
    @Override
    public void record(final MetricConfig config, final double value, final long timeMs) {}

    @Override
    public double measure(final MetricConfig config, final long now) {
      return value.getAsLong();
    }
  }
}
