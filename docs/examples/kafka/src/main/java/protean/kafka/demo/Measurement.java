// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.streams.KafkaStreams;
import org.rocksdb.TickerType;

/** What the alarms of a run cost, without the first ones, which warm everything up; one stream thread processes them. */
final class Measurement {
  private static final double MIB = 1 << 20;

  private final long alarms;
  private final long warmUp;
  private final AtomicLong seen = new AtomicLong();
  private volatile Snapshot start;
  private volatile Snapshot end;

  /** {@code alarms}: the number of alarms, including the ones that warm up. */
  Measurement(final long alarms, final long warmUp) {
    this.alarms = alarms;
    this.warmUp = warmUp;
  }

  /** Called before an alarm is joined. */
  void onAlarm() {
    final long count = seen.incrementAndGet();
    if (count == warmUp) {
      heapPools().forEach(MemoryPoolMXBean::resetPeakUsage);
      start = Snapshot.now();
    } else if (count == alarms) {
      end = Snapshot.now();
    }
  }

  /** Called after all alarms, before the application is closed. */
  Properties result(final KafkaStreams streams) throws IOException {
    if (start == null || end == null) {
      throw new IllegalStateException("there were too few alarms to measure: " + seen.get());
    }
    final Properties result = new Properties();
    final double records = alarms - warmUp;
    final double seconds = (end.nanos - start.nanos) / 1e9;
    set(result, "records", records);
    set(result, "seconds", seconds);
    set(result, "records-per-second", records / seconds);
    set(result, "blocks-per-record", (end.blocks - start.blocks) / records);
    set(result, "disk-bytes-per-record", (end.diskBytes - start.diskBytes) / records);
    set(result, "cpu-micros-per-record", (end.cpuNanos - start.cpuNanos) / 1e3 / records);
    set(result, "allocated-per-record", (end.allocated - start.allocated) / records);
    set(result, "heap-peak-mib", end.heapPeak / MIB);
    System.gc();
    set(result, "heap-live-mib", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / MIB);
    set(result, "rss-mib", numberIn("/proc/self/status", "VmRSS:") * 1024 / MIB);
    set(result, "cache-used-mib", StoreSettings.cacheUsage() / MIB);
    set(result, "table-readers-mib", sum(streams, "estimate-table-readers-mem") / MIB);
    set(result, "memtables-mib", sum(streams, "size-all-mem-tables") / MIB);
    set(result, "sst-mib", sum(streams, "total-sst-files-size") / MIB);
    return result;
  }

  private static void set(final Properties result, final String name, final double value) {
    result.setProperty(name, String.format(Locale.ROOT, "%.4f", value));
  }

  /** The sum of a metric over all stores. */
  private static double sum(final KafkaStreams streams, final String metric) {
    return streams.metrics().entrySet().stream()
        .filter(entry -> entry.getKey().name().equals(metric))
        .mapToDouble(entry -> ((Number) entry.getValue().metricValue()).doubleValue())
        .sum();
  }

  private static List<MemoryPoolMXBean> heapPools() {
    return ManagementFactory.getMemoryPoolMXBeans().stream().filter(pool -> pool.getType() == MemoryType.HEAP).toList();
  }

  /** The number after {@code name} in a file in /proc about this process. */
  private static long numberIn(final String file, final String name) throws IOException {
    for (final String line : Files.readAllLines(Path.of(file))) {
      if (line.startsWith(name)) {
        return Long.parseLong(line.substring(name.length()).trim().split(" ")[0]);
      }
    }
    throw new IOException("no " + name + " in " + file);
  }

  private record Snapshot(long nanos, long blocks, long diskBytes, long cpuNanos, long allocated, long heapPeak) {
    /** Called in the stream thread. */
    static Snapshot now() {
      try {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return new Snapshot(
            System.nanoTime(),
            StoreSettings.statistics(Pipeline.READINGS_STORE).getTickerCount(TickerType.BLOCK_CACHE_DATA_MISS),
            numberIn("/proc/self/io", "read_bytes:"),
            threads.getCurrentThreadCpuTime(),
            threads.getThreadAllocatedBytes(Thread.currentThread().getId()),
            heapPools().stream().mapToLong(pool -> pool.getPeakUsage().getUsed()).sum());
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
