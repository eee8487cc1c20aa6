// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;

/** The share of the input that an application has processed and committed; later input does not count. */
final class Progress implements AutoCloseable {
  private static final long SHOWN_EVERY_NANOS = 5_000_000_000L;

  private final Admin admin;
  private final String application;
  private final Map<TopicPartition, Long> ends = new HashMap<>();
  private final long all;
  private long shown = System.nanoTime();

  Progress(final String bootstrap, final String application, final List<String> topics)
      throws ExecutionException, InterruptedException {
    admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    this.application = application;
    final var descriptions = admin.describeTopics(topics).allTopicNames().get();
    final Map<TopicPartition, OffsetSpec> asked =
        descriptions.values().stream()
            .flatMap(topic -> topic.partitions().stream().map(p -> new TopicPartition(topic.name(), p.partition())))
            .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
    admin.listOffsets(asked).all().get().forEach((partition, end) -> ends.put(partition, end.offset()));
    all = ends.values().stream().mapToLong(Long::longValue).sum();
  }

  /** How many records of the topic are not processed. */
  long left(final String topic) throws ExecutionException, InterruptedException {
    final Map<TopicPartition, Long> done = committed();
    return ends.entrySet().stream()
        .filter(end -> end.getKey().topic().equals(topic))
        .mapToLong(end -> end.getValue() - done.getOrDefault(end.getKey(), 0L))
        .sum();
  }

  /** How many percent are processed, rounded down. */
  int percent() throws ExecutionException, InterruptedException {
    return (int) (100 * committed().values().stream().mapToLong(Long::longValue).sum() / Math.max(1, all));
  }

  /** Prints the progress every few seconds. Returns whether all input has been processed. */
  boolean show() throws ExecutionException, InterruptedException {
    final long done = committed().values().stream().mapToLong(Long::longValue).sum();
    if (done < all && System.nanoTime() - shown > SHOWN_EVERY_NANOS) {
      shown = System.nanoTime();
      System.out.printf("%,d of %,d records%n", done, all);
    }
    return done >= all;
  }

  private Map<TopicPartition, Long> committed() throws ExecutionException, InterruptedException {
    final Map<TopicPartition, Long> committed = new HashMap<>();
    try {
      final Map<TopicPartition, OffsetAndMetadata> offsets =
          admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get();
      offsets.forEach(
          (partition, offset) -> {
            if (offset != null && ends.containsKey(partition)) {
              committed.put(partition, Math.min(offset.offset(), ends.get(partition)));
            }
          });
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof GroupIdNotFoundException)) {
        throw e;
      }
    }
    return committed;
  }

  @Override
  public void close() {
    admin.close();
  }
}
