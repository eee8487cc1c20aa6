// SPDX-License-Identifier: Apache-2.0

package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.BeforeEach;
import protean.kafka.ProteanStores;

/** Kafka's own tests of its session store, over the bounded one. It can be seen from this package only. */
public class KafkasSessionStoreTest extends AbstractSessionBytesStoreTest {
  @Override
  StoreType storeType() {
    return StoreType.RocksDBSessionStore;
  }

  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      final long retentionPeriod, final Serde<K> keySerde, final Serde<V> valueSerde) {
    final String name = super.buildSessionStore(retentionPeriod, keySerde, valueSerde).name();
    return Stores.sessionStoreBuilder(
            ProteanStores.bounded(Stores.persistentSessionStore(name, ofMillis(retentionPeriod))), keySerde, valueSerde)
        .build();
  }

  @BeforeEach
  @Override
  public void setUp() {
    super.setUp();
    sessionStore.close();
    sessionStore = buildSessionStore(RETENTION_PERIOD, Serdes.String(), Serdes.Long());
    context = WithProtean.of(context);
    sessionStore.init(context, sessionStore);
  }
}
