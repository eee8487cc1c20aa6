// SPDX-License-Identifier: Apache-2.0

package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import protean.kafka.ProteanStores;

/** Kafka's own tests of its window store, over the bounded one. It can be seen from this package only. */
public class KafkasWindowStoreTest extends AbstractRocksDBWindowStoreTest {
  @Override
  StoreType storeType() {
    return StoreType.RocksDBWindowStore;
  }

  @Override
  <K, V> WindowStore<K, V> buildWindowStore(
      final long retentionPeriod,
      final long windowSize,
      final boolean retainDuplicates,
      final Serde<K> keySerde,
      final Serde<V> valueSerde) {
    final String name =
        super.buildWindowStore(retentionPeriod, windowSize, retainDuplicates, keySerde, valueSerde).name();
    return Stores.windowStoreBuilder(
            ProteanStores.bounded(
                Stores.persistentWindowStore(name, ofMillis(retentionPeriod), ofMillis(windowSize), retainDuplicates)),
            keySerde,
            valueSerde)
        .build();
  }

  @BeforeEach
  @Override
  protected void setup() {
    super.setup();
    windowStore.close();
    windowStore = buildWindowStore(RETENTION_PERIOD, WINDOW_SIZE, false, Serdes.Integer(), Serdes.String());
    context = WithProtean.of(context);
    windowStore.init(context, windowStore);
  }

  /** Kafka's test, which looks for the position inside of the stock store. */
  @Test
  @Override
  public void shouldMatchPositionAfterPut() {
    context.setRecordContext(new ProcessorRecordContext(0, 1, 0, "topic", new RecordHeaders()));
    windowStore.put(0, "0", SEGMENT_INTERVAL);
    context.setRecordContext(new ProcessorRecordContext(0, 2, 1, "topic", new RecordHeaders()));
    windowStore.put(1, "1", SEGMENT_INTERVAL);
    assertEquals(
        Position.emptyPosition().withComponent("topic", 0, 1).withComponent("topic", 1, 2), windowStore.getPosition());
  }
}
