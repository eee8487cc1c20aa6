// SPDX-License-Identifier: Apache-2.0

package org.apache.kafka.streams.state.internals;

import java.util.Properties;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.StreamsTestUtils;
import protean.kafka.ProteanConfigSetter;

/** For tests of Kafka's that make a context without properties. */
final class WithProtean {
  private WithProtean() {}

  /** Returns a copy of the context, with Protean's filters. */
  static InternalMockProcessorContext<?, ?> of(final InternalMockProcessorContext<?, ?> context) {
    final Properties properties = StreamsTestUtils.getStreamsConfig();
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, ProteanConfigSetter.class);
    final InternalMockProcessorContext<?, ?> with =
        new InternalMockProcessorContext<>(
            context.stateDir(),
            context.keySerde(),
            context.valueSerde(),
            context.metrics(),
            new StreamsConfig(properties),
            context::recordCollector,
            context.cache(),
            Time.SYSTEM);
    with.setTime(1);
    return with;
  }
}
