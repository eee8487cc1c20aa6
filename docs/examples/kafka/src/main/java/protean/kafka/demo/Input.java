// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The input, which depends on the arguments alone: the records of a topic are in the order of their event times, up to
 * {@link #DISORDER}, and spread over {@link #SPAN}.
 *
 * <ul>
 *   <li>readings: each of a random sensor
 *   <li>alarms: each of a random sensor, so that most of them find no reading within minutes
 *   <li>visits: a sensor is visited several times within half an hour, then not for hours
 * </ul>
 */
final class Input {
  static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
  static final Duration SPAN = Duration.ofDays(4);
  static final Duration DISORDER = Duration.ofSeconds(30);

  /** How many visits pass while a sensor is visited, and how many of these it gets. */
  private static final int VISITED_FOR = 1024;
  private static final int VISITS = 16;

  private Input() {}

  static void generate(final Arguments arguments) throws ExecutionException, InterruptedException {
    final String bootstrap = arguments.text("bootstrap");
    final String input = arguments.text("input");
    createTopics(bootstrap, (int) arguments.number("partitions", 4), topics(input));
    final Map<String, Object> config =
        Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ProducerConfig.LINGER_MS_CONFIG, 20,
            ProducerConfig.BATCH_SIZE_CONFIG, 128 << 10);
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      write(arguments, producer);
    }
  }

  static List<String> topics(final String input) {
    return Stream.of("readings", "alarms", "visits").map(topic -> input + "-" + topic).toList();
  }

  /** Creates the topics that do not exist. */
  static void createTopics(final String bootstrap, final int partitions, final List<String> topics)
      throws ExecutionException, InterruptedException {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      for (final String topic : topics) {
        try {
          admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        } catch (ExecutionException e) {
          if (!(e.getCause() instanceof TopicExistsException)) {
            throw e;
          }
        }
      }
    }
  }

  private static void write(final Arguments arguments, final Producer<String, String> producer) {
    final String topic = arguments.text("topic");
    final long records = arguments.number("records");
    final long first = arguments.number("first", 0);
    final int sensors = (int) arguments.number("sensors", 20000);
    final int bytes = (int) arguments.number("value-bytes", 160);
    final SplittableRandom random =
        new SplittableRandom(arguments.number("seed", 1) * 31 + topic.hashCode() + first);
    final String padding = padding(random);
    final AtomicReference<Exception> failure = new AtomicReference<>();
    for (long i = 0; i < records && failure.get() == null; i++) {
      final long sensor =
          topic.equals("visits") ? (i / VISITS + random.nextInt(VISITED_FOR / VISITS)) % sensors : random.nextInt(sensors);
      final long offset = SPAN.toMillis() * i / records + random.nextLong(DISORDER.toMillis());
      final long time = START.toEpochMilli() + Math.min(offset, SPAN.toMillis() - 1);
      final int start = random.nextInt(padding.length() - bytes);
      final String value = topic.charAt(0) + Long.toString(first + i) + ":" + padding.substring(start, start + bytes);
      producer.send(
          new ProducerRecord<>(arguments.text("input") + "-" + topic, null, time, String.format("s%06d", sensor), value),
          (metadata, exception) -> failure.compareAndSet(null, exception));
    }
    producer.flush();
    if (failure.get() != null) {
      throw new IllegalStateException("cannot write to " + topic, failure.get());
    }
    System.out.printf("%,d %s%n", records, topic);
  }

  /** The name of a record of one of the topics: the part of the value that is not padding. */
  static String name(final String value) {
    return value.substring(0, value.indexOf(':'));
  }

  private static String padding(final SplittableRandom random) {
    final byte[] letters = new byte[64 << 10];
    for (int i = 0; i < letters.length; i++) {
      letters[i] = (byte) ('a' + random.nextInt(26));
    }
    return new String(letters, StandardCharsets.US_ASCII);
  }
}
