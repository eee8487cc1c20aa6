// SPDX-License-Identifier: Apache-2.0

package org.apache.kafka.streams.state.internals;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import protean.kafka.ProteanStores;

/** Kafka's own tests of its key-value stores, over the bounded one. Its table is Kafka's, since so are its properties. */
public class KafkasKeyValueStoreTest extends AbstractKeyValueStoreTest {
  @Override
  @SuppressWarnings("unchecked")
  protected <K, V> KeyValueStore<K, V> createKeyValueStore(final StateStoreContext context) {
    final KeyValueStore<K, V> store =
        Stores.keyValueStoreBuilder(
                ProteanStores.bounded(Stores.persistentKeyValueStore("my-store")),
                (Serde<K>) context.keySerde(),
                (Serde<V>) context.valueSerde())
            .build();
    store.init(context, store);
    return store;
  }
}
