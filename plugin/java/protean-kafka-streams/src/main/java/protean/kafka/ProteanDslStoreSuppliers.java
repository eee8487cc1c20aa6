// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Gives all stores that the DSL creates the bounds of {@link ProteanStores}:
 *
 * <p>Tables, joins, windows and sessions get Kafka's own RocksDB stores with bounds. Stores of aggregations that emit when
 * the window closes are ordered by time; they stay as they are. Thread-safe.
 */
public final class ProteanDslStoreSuppliers implements DslStoreSuppliers {
  /** For {@code dsl.store.suppliers.class}, {@code Materialized.as} and {@code StreamJoined.withDslStoreSuppliers}. */
  public ProteanDslStoreSuppliers() {}

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(final DslKeyValueParams params) {
    return ProteanStores.bounded(BuiltInDslStoreSuppliers.ROCKS_DB.keyValueStore(params));
  }

  @Override
  public WindowBytesStoreSupplier windowStore(final DslWindowParams params) {
    final WindowBytesStoreSupplier stock = BuiltInDslStoreSuppliers.ROCKS_DB.windowStore(params);
    return emitsOnClose(params.emitStrategy()) ? stock : ProteanStores.bounded(stock);
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(final DslSessionParams params) {
    final SessionBytesStoreSupplier stock = BuiltInDslStoreSuppliers.ROCKS_DB.sessionStore(params);
    return emitsOnClose(params.emitStrategy()) ? stock : ProteanStores.bounded(stock);
  }

  private static boolean emitsOnClose(final EmitStrategy strategy) {
    return strategy.type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE;
  }
}
