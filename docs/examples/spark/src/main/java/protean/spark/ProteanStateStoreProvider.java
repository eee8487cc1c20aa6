// SPDX-License-Identifier: Apache-2.0

package protean.spark;

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBConf;
import org.apache.spark.sql.execution.streaming.state.RocksDBEventForwarder;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.rocksdb.BlockBasedTableConfig;
import protean.rocksjava.ProteanTableConfig;
import scala.Option;

/**
 * Spark's state stores in RocksDB, with range filters: Spark bounds its prefix scans itself, so they are filtered. Selected by
 * {@code spark.sql.streaming.stateStore.providerClass=protean.spark.ProteanStateStoreProvider}.
 */
public class ProteanStateStoreProvider extends RocksDBStateStoreProvider {
  @Override
  public RocksDB createRocksDB(final String dfsRootDir, final RocksDBConf conf, final File localRootDir,
      final Configuration hadoopConf, final String loggingId, final boolean useColumnFamilies,
      final boolean enableStateStoreCheckpointIds, final int partitionId, final Option<RocksDBEventForwarder> eventForwarder,
      final Option<String> uniqueId) {
    final RocksDB db = super.createRocksDB(dfsRootDir, conf, localRootDir, hadoopConf, loggingId, useColumnFamilies,
        enableStateStoreCheckpointIds, partitionId, eventForwarder, uniqueId);
    final ProteanTableConfig table = new ProteanTableConfig().setRangeFilter("proteus:12");
    ProteanTableConfig.copyOptions((BlockBasedTableConfig) db.rocksDbOptions().tableFormatConfig(), table);
    db.rocksDbOptions().setTableFormatConfig(table);
    return db;
  }
}
