// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a topology puts out, and what is in its stores, is the same with Protean. */
class TopologyTest {
  private static final List<String> OUTPUTS =
      List.of("joined", "outer", "own", "counts", "sliding", "sessions", "final", "orders", "table");

  private static final int RECORDS = 400;

  @TempDir Path folder;

  private static String string(final Object value) {
    return String.valueOf(value);
  }

  private static WindowBytesStoreSupplier windows(final String name) {
    return ProteanStores.bounded(Stores.persistentWindowStore(name, ofSeconds(80), ofSeconds(20), true));
  }

  private static Topology topology(final boolean ownStores) {
    final StreamsBuilder builder = new StreamsBuilder();
    final KStream<String, String> left = builder.stream("left");
    final KStream<String, String> right = builder.stream("right");
    final JoinWindows near = JoinWindows.ofTimeDifferenceAndGrace(ofSeconds(10), ofSeconds(60));
    left.join(right, (one, other) -> one + other, near).to("joined");
    left.outerJoin(right, (one, other) -> one + other, near).to("outer");
    StreamJoined<String, String, String> stores = StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String());
    if (ownStores) {
      stores = stores.withThisStoreSupplier(windows("this")).withOtherStoreSupplier(windows("other"));
    }
    left.leftJoin(right, (one, other) -> one + other, near, stores).to("own");

    left.groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(ofSeconds(30), ofSeconds(60)).advanceBy(ofSeconds(10)))
        .count()
        .toStream((key, value) -> string(key))
        .mapValues(TopologyTest::string)
        .to("counts");
    left.groupByKey()
        .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(ofSeconds(15), ofSeconds(60)))
        .reduce((one, other) -> other)
        .toStream((key, value) -> string(key))
        .to("sliding");
    right.groupByKey()
        .windowedBy(SessionWindows.ofInactivityGapAndGrace(ofSeconds(5), ofSeconds(60)))
        .count()
        .toStream((key, value) -> string(key))
        .mapValues(TopologyTest::string)
        .to("sessions");
    right.groupByKey()
        .windowedBy(TimeWindows.ofSizeAndGrace(ofSeconds(30), ofSeconds(10)))
        .emitStrategy(EmitStrategy.onWindowClose())
        .count()
        .toStream((key, value) -> string(key))
        .mapValues(TopologyTest::string)
        .to("final");

    // A foreign key: the first letter of the value.
    final KTable<String, String> orders = builder.table("left-table", Materialized.as("orders-store"));
    final KTable<String, String> customers = builder.table("right-table");
    orders.join(customers, order -> order.substring(0, 1), (order, customer) -> order + customer).toStream().to("orders");
    orders.groupBy((key, value) -> KeyValue.pair(value.substring(0, 1), value)).count()
        .toStream().mapValues(TopologyTest::string).to("table");
    return builder.build();
  }

  private Properties properties(final String name, final Map<String, String> more) {
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.resolve(name).toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.putAll(more);
    return properties;
  }

  private List<String> run(final String name, final Map<String, String> more, final boolean ownStores) {
    final Properties properties = properties(name, more);
    final Topology topology = topology(ownStores);
    final List<String> found = new ArrayList<>();
    final Random random = new Random(1);
    try (TopologyTestDriver driver = new TopologyTestDriver(topology, properties, Instant.ofEpochMilli(0))) {
      long now = 0;
      for (int i = 0; i < RECORDS; ++i) {
        now += random.nextInt(1_000);
        final String key = Integer.toString(random.nextInt(30), 36);
        final String value = (char) ('a' + random.nextInt(5)) + Integer.toString(i);
        final long time = Math.max(0, now - random.nextInt(20_000));
        final String topic = List.of("left", "right", "left-table", "right-table").get(random.nextInt(4));
        driver
            .createInputTopic(topic, new StringSerializer(), new StringSerializer())
            .pipeInput(topic.equals("right-table") ? value.substring(0, 1) : key, value, time);
      }
      for (final String output : OUTPUTS) {
        driver
            .createOutputTopic(output, new StringDeserializer(), new StringDeserializer())
            .readRecordsToList()
            .forEach(record -> found.add(output + " " + record.timestamp() + " " + record.key() + " " + record.value()));
      }
      final KeyValueStore<String, String> orders = driver.getKeyValueStore("orders-store");
      try (KeyValueIterator<String, String> range = orders.range("3", "9")) {
        range.forEachRemaining(order -> found.add("range " + order));
      }
      if (!name.equals("stock") && !more.containsKey("protean.enabled")) {
        assertTrue(boundedSearches(driver) > RECORDS / 2, "searches with bounds: " + boundedSearches(driver));
      } else {
        assertEquals(0, boundedSearches(driver));
      }
    }
    return found;
  }

  private static double boundedSearches(final TopologyTestDriver driver) {
    return driver.metrics().entrySet().stream()
        .filter(metric -> metric.getKey().name().equals("bounded-search-total"))
        .mapToDouble(metric -> (Double) metric.getValue().metricValue())
        .sum();
  }

  private static final Map<String, String> PROTEAN =
      Map.of(
          StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, ProteanConfigSetter.class.getName(),
          StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, ProteanDslStoreSuppliers.class.getName(),
          ProteanSettings.SETTER, StorePair.SmallFiles.class.getName());

  private static Map<String, String> protean(final String name, final String value) {
    final Map<String, String> properties = new HashMap<>(PROTEAN);
    properties.put(name, value);
    return properties;
  }

  @Test
  void theSameComesOut() {
    final List<String> stock = run("stock", Map.of(), false);
    for (final String output : OUTPUTS) {
      final Stream<String> records = stock.stream().filter(record -> record.startsWith(output + " "));
      assertTrue(records.count() > 5, "records of " + output);
    }
    assertEquals(stock, run("protean", PROTEAN, false));
    assertEquals(stock, run("own", PROTEAN, true));
    assertEquals(stock, run("off", protean("protean.enabled", "false"), false));
  }

  @Test
  void theSameComesOutWithoutCaches() {
    final Map<String, String> uncached = Map.of(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
    final List<String> stock = run("stock", uncached, false);
    final Map<String, String> protean = new HashMap<>(PROTEAN);
    protean.putAll(uncached);
    assertEquals(stock, run("protean", protean, false));
  }

  @Tag("headers")
  @Test
  void theSameComesOutWithHeaders() {
    final Map<String, String> headers =
        Map.of(StreamsConfig.DSL_STORE_FORMAT_CONFIG, StreamsConfig.DSL_STORE_FORMAT_HEADERS);
    final List<String> stock = run("stock", headers, false);
    final Map<String, String> protean = new HashMap<>(PROTEAN);
    protean.putAll(headers);
    assertEquals(stock, run("protean", protean, false));
  }

  /** All stores but the one that emits when its window closes have bounds. */
  @Test
  void whichStoresHaveBounds() {
    final Map<String, Integer> stores = new TreeMap<>();
    final Properties properties = properties("protean", PROTEAN);
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(false), properties)) {
      driver.metrics().keySet().stream()
          .filter(metric -> metric.name().equals("bounded-search-total"))
          .forEach(metric -> stores.merge(metric.tags().get("store").replaceAll("-[0-9]{10}", ""), 1, Integer::sum));
    }
    assertEquals(
        Map.ofEntries(
            Map.entry("KSTREAM-JOINTHIS-store", 2),
            Map.entry("KSTREAM-JOINOTHER-store", 1),
            Map.entry("KSTREAM-OUTERTHIS-store", 1),
            Map.entry("KSTREAM-OUTEROTHER-store", 2),
            Map.entry("KSTREAM-OUTERSHARED-store", 2),
            Map.entry("KSTREAM-AGGREGATE-STATE-STORE", 2), // The third store emits at the end of windows.
            Map.entry("KSTREAM-REDUCE-STATE-STORE", 1),
            Map.entry("KTABLE-AGGREGATE-STATE-STORE", 1),
            Map.entry("KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE", 1),
            Map.entry("orders-store", 1),
            Map.entry("right-table-STATE-STORE", 1)),
        stores);
  }
}
