package protean.kafka.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** A table of measurements; the first one is what the others are compared with. */
final class Report {
  private Report() {}

  static void print(final Arguments arguments) throws IOException {
    final List<Properties> results = new ArrayList<>();
    for (final String file : arguments.text("results").split(",")) {
      final Properties result = new Properties();
      try (var in = Files.newInputStream(Path.of(file))) {
        result.load(in);
      }
      results.add(result);
    }
    System.out.println(
        "| filters | alarms/s | ratio | data blocks read per alarm | bytes from disk per alarm | CPU time per alarm (µs)"
            + " | heap: live, peak (MiB) | heap allocated per alarm | native: RSS, cache, table readers, of these filters (MiB) |");
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

  private static double number(final Properties result, final String name) {
    return Double.parseDouble(result.getProperty(name));
  }
}
