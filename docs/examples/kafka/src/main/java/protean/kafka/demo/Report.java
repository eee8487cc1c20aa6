// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A table of measurements: a line for each policy, which is, of several runs, the one with the median throughput. The
 * first policy is what the others are compared with.
 */
final class Report {
  private Report() {}

  static void print(final Arguments arguments) throws IOException {
    final Map<String, List<Properties>> runs = new LinkedHashMap<>();
    for (final String file : arguments.text("results").split(",")) {
      final Properties run = new Properties();
      try (var in = Files.newInputStream(Path.of(file))) {
        run.load(in);
      }
      runs.computeIfAbsent(run.getProperty("policy"), policy -> new ArrayList<>()).add(run);
    }
    final List<Properties> results = runs.values().stream().map(Report::median).toList();
    System.out.println(
        "| filters | alarms/s | ratio | data blocks read per alarm | bytes from disk per alarm | CPU time per alarm (µs)"
            + " | heap: live, peak (MiB) | heap allocated per alarm"
            + " | native: RSS, cache, table readers, of these filters (MiB) |");
    System.out.println("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (final Properties result : results) {
      System.out.printf(
          "| %s | %,.0f | %.2f | %.3f | %,.0f | %.1f | %.1f, %.0f | %,.0f | %.0f, %.1f, %.1f, %.1f |%n",
          result.getProperty("policy"),
          number(result, "records-per-second"),
          number(result, "records-per-second") / number(results.get(0), "records-per-second"),
          number(result, "blocks-per-record"),
          number(result, "disk-bytes-per-record"),
          number(result, "cpu-micros-per-record"),
          number(result, "heap-live-mib"),
          number(result, "heap-peak-mib"),
          number(result, "allocated-per-record"),
          number(result, "rss-mib"),
          number(result, "cache-used-mib"),
          number(result, "table-readers-mib"),
          number(result, "filter-mib"));
    }
  }

  private static Properties median(final List<Properties> runs) {
    runs.sort(Comparator.comparingDouble(run -> number(run, "records-per-second")));
    return runs.get(runs.size() / 2);
  }

  private static double number(final Properties result, final String name) {
    return Double.parseDouble(result.getProperty(name));
  }
}
