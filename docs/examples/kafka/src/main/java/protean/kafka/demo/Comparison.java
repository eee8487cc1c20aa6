// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Compares the committed output of two applications for the same input, record for record: keys, values, and times.
 *
 * <p>What comes out of a window or a session is, for each key, one sequence: it depends on the order of the visits of that
 * key, which is the order in their partition. So the sequences must be equal. A join processes two partitions, whose
 * records interleave as they happen to arrive: the same pairs come out, in another order. So for each key the pairs must
 * be equal as a multiset. Each pair has the numbers of its records, and each count the sum of the numbers of its visits,
 * so nothing can be lost or doubled without being seen.
 */
final class Comparison {
  private static final int SHOWN = 5;

  private Comparison() {}

  /** Returns whether the outputs are equal. */
  static boolean run(final Arguments arguments) {
    boolean equal = true;
    for (final String topic : arguments.text("topics", "joined,windows,sessions").split(",")) {
      final Map<String, List<String>> first = read(arguments, arguments.text("first") + "-" + topic);
      final Map<String, List<String>> second = read(arguments, arguments.text("second") + "-" + topic);
      if (topic.equals("joined")) {
        first.values().forEach(values -> values.sort(null));
        second.values().forEach(values -> values.sort(null));
      }
      equal &= compare(topic, first, second);
    }
    return equal;
  }

  private static boolean compare(
      final String topic, final Map<String, List<String>> first, final Map<String, List<String>> second) {
    final TreeSet<String> keys = new TreeSet<>(first.keySet());
    keys.addAll(second.keySet());
    final List<String> different =
        keys.stream().filter(key -> !Objects.equals(first.get(key), second.get(key))).toList();
    final long records = first.values().stream().mapToLong(List::size).sum();
    if (records == 0) {
      System.out.printf("%s: EMPTY%n", topic);
      return false;
    }
    if (different.isEmpty()) {
      System.out.printf("%s: %,d records of %,d keys, identical%n", topic, records, keys.size());
      return true;
    }
    System.out.printf("%s: DIFFERENT for %,d of %,d keys%n", topic, different.size(), keys.size());
    for (final String key : different.subList(0, Math.min(SHOWN, different.size()))) {
      System.out.printf("  %s: %s, and %s%n", key, first.get(key), second.get(key));
    }
    return false;
  }

  /** The committed records of a topic: time and value, for each key in the order in which they were written. */
  private static Map<String, List<String>> read(final Arguments arguments, final String topic) {
    final Map<String, Object> config =
        Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, arguments.text("bootstrap"),
            ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    final Map<String, List<String>> values = new TreeMap<>();
    try (KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      final List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      // Where the last open transaction begins; none is open any more.
      final Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
        for (final ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
          values
              .computeIfAbsent(record.key(), key -> new ArrayList<>())
              .add(record.timestamp() + " " + record.value());
        }
      }
    }
    return values;
  }
}
