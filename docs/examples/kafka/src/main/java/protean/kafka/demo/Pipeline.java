// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.common.utils.Bytes;

/**
 * The application: alarms joined with the readings of their sensor shortly before and after, visits counted in fixed
 * windows, and visits counted in sessions. Events may be days late, so all stores keep days in several segments.
 *
 * <p>Without a record cache each visit gives its own output, so the output for a key is the same sequence in every run.
 */
final class Pipeline {
  static final Duration JOINED_WITHIN = Duration.ofMinutes(2);
  static final Duration WINDOW = Duration.ofMinutes(10);
  static final Duration GAP = Duration.ofMinutes(3);
  static final Duration GRACE = Input.SPAN;

  /** The store that alarms are looked up in. */
  static final String READINGS_STORE = "alarms-other-join-store";

  private Pipeline() {}

  static List<String> outputs(final String application) {
    return Stream.of("joined", "windows", "sessions").map(name -> application + "-" + name).toList();
  }

  /** Calls {@code onAlarm} before each alarm. */
  static Topology build(final Properties config, final String input, final String application, final Runnable onAlarm) {
    final Serde<String> text = Serdes.String();
    final Consumed<String, String> consumed = Consumed.with(text, text);
    final Produced<String, String> produced = Produced.with(text, text);
    final StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(config)));

    final KStream<String, String> readings = builder.stream(input + "-readings", consumed);
    builder.stream(input + "-alarms", consumed)
        .peek((sensor, alarm) -> onAlarm.run())
        .join(
            readings,
            (alarm, reading) -> Input.name(alarm) + "+" + Input.name(reading),
            JoinWindows.ofTimeDifferenceAndGrace(JOINED_WITHIN, GRACE),
            StreamJoined.with(text, text, text).withName("alarms").withStoreName("alarms"))
        .to(application + "-joined", produced);

    final KGroupedStream<String, String> visits =
        builder.stream(input + "-visits", consumed).groupByKey(Grouped.with(text, text));
    visits
        .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, GRACE))
        .aggregate(
            Visits::none,
            Visits::plus,
            Named.as("windows"),
            Materialized.<String, String, WindowStore<Bytes, byte[]>>as("windows")
                .withKeySerde(text)
                .withValueSerde(text)
                .withCachingDisabled())
        .toStream(Pipeline::name)
        .to(application + "-windows", produced);
    visits
        .windowedBy(SessionWindows.ofInactivityGapAndGrace(GAP, GRACE))
        .aggregate(
            Visits::none,
            Visits::plus,
            Visits::merge,
            Named.as("sessions"),
            Materialized.<String, String, SessionStore<Bytes, byte[]>>as("sessions")
                .withKeySerde(text)
                .withValueSerde(text)
                .withCachingDisabled())
        .toStream(Pipeline::name)
        .to(application + "-sessions", produced);
    return builder.build(config);
  }

  private static String name(final Windowed<String> key, final String value) {
    return key.key()
        + "@"
        + Instant.ofEpochMilli(key.window().start())
        + "/"
        + Instant.ofEpochMilli(key.window().end());
  }

  /** How many visits there were, and the sum of their numbers, which tells if one was lost or counted twice. */
  private static final class Visits {
    static String none() {
      return "0 0";
    }

    static String plus(final String sensor, final String visit, final String visits) {
      return merge(sensor, "1 " + Input.name(visit).substring(1), visits);
    }

    static String merge(final String sensor, final String a, final String b) {
      final String[] left = a.split(" ");
      final String[] right = b.split(" ");
      return (Long.parseLong(left[0]) + Long.parseLong(right[0]))
          + " "
          + (Long.parseLong(left[1]) + Long.parseLong(right[1]));
    }
  }
}
