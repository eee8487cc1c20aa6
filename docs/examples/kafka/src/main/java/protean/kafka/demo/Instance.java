// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.StateRestoreListener;
import protean.kafka.ProteanConfigSetter;
import protean.kafka.ProteanDslStoreSuppliers;

/** An instance of the application, which ends when all instances together have processed all input. */
final class Instance {
  private static final Duration CHANGELOG_KEPT_FOR = Duration.ofDays(36500);
  private static final Duration CLOSED_WITHIN = Duration.ofSeconds(60);

  private Instance() {}

  /** Returns whether it ended well. */
  static boolean run(final Arguments arguments) throws IOException, ExecutionException, InterruptedException {
    final String application = arguments.text("application");
    final String input = arguments.text("input");
    final String bootstrap = arguments.text("bootstrap");
    final String result = arguments.text("result", "");
    final Properties config = config(arguments);
    Input.createTopics(bootstrap, (int) arguments.number("partitions", 4), Pipeline.outputs(application));

    try (Progress progress = new Progress(bootstrap, application, Input.topics(input))) {
      final Measurement measurement = new Measurement(progress.left(input + "-alarms"), arguments.number("warm-up", 1));
      final CountDownLatch failed = new CountDownLatch(1);
      final RestoreCount restored = new RestoreCount();
      final KafkaStreams streams =
          new KafkaStreams(Pipeline.build(config, input, application, measurement::onAlarm), config);
      streams.setGlobalStateRestoreListener(restored);
      streams.setUncaughtExceptionHandler(
          exception -> {
            exception.printStackTrace();
            failed.countDown();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
          });
      final long start = System.nanoTime();
      streams.start();
      boolean ok = true;
      while (ok && !progress.show()) {
        ok = !failed.await(1, TimeUnit.SECONDS);
      }
      if (ok && !result.isEmpty()) {
        final Properties measured = measurement.result(streams);
        measured.setProperty("policy", arguments.text("policy", "stock"));
        measured.setProperty("direct-reads", arguments.text("direct-reads", "1"));
        try (var out = Files.newOutputStream(Path.of(result))) {
          measured.store(out, null);
        }
      }
      // Leaves the group, so that the next instance need not wait until this one has timed out.
      ok &=
          streams.close(
              CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP)
                  .withTimeout(CLOSED_WITHIN));
      System.out.printf(
          "%s in %d s, %,d records restored%n",
          ok ? "done" : "FAILED", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start), restored.records.get());
      return ok;
    }
  }

  private static Properties config(final Arguments arguments) {
    final String policy = arguments.text("policy", "stock");
    final Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments.text("application"));
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments.text("bootstrap"));
    config.put(StreamsConfig.STATE_DIR_CONFIG, arguments.text("state"));
    config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
    // A second instance gets its share of the tasks at once, with whatever there is to restore.
    config.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, Long.MAX_VALUE);
    // The events are older than the stores keep them, but for the broker, which keeps the changelog topics, it is now.
    config.put(StreamsConfig.WINDOW_STORE_CHANGE_LOG_ADDITIONAL_RETENTION_MS_CONFIG, CHANGELOG_KEPT_FOR.toMillis());
    // A killed instance times out soon.
    config.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6000);
    config.put(StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 1000);

    config.put(StoreSettings.CACHE_BYTES, Long.toString(arguments.number("cache-mib", 8) << 20));
    config.put(StoreSettings.WRITE_BUFFER_BYTES, Long.toString(arguments.number("write-buffer-kib", 1024) << 10));
    config.put(StoreSettings.DIRECT_READS, Boolean.toString(arguments.number("direct-reads", 1) != 0));
    if (policy.equals("stock")) {
      config.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, StoreSettings.class.getName());
    } else {
      config.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, ProteanConfigSetter.class.getName());
      config.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, ProteanDslStoreSuppliers.class.getName());
      config.put("protean.filter.policy", policy);
      config.put("protean.rocksdb.config.setter", StoreSettings.class.getName());
    }
    return config;
  }

  private static final class RestoreCount implements StateRestoreListener {
    private final AtomicLong records = new AtomicLong();

    @Override
    public void onRestoreStart(
        final TopicPartition partition, final String store, final long startOffset, final long endOffset) {}

    @Override
    public void onBatchRestored(
        final TopicPartition partition, final String store, final long endOffset, final long restored) {
      records.addAndGet(restored);
    }

    @Override
    public void onRestoreEnd(final TopicPartition partition, final String store, final long restored) {}
  }
}
