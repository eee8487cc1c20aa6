// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import org.apache.kafka.streams.state.internals.BlockBasedTableConfigWithAccessibleCache;
import protean.rocksjava.ProteanTableConfig;

/**
 * A {@code ProteanTable} with all options of another table, the block cache included, and another filter policy. Kafka
 * reads the cache's metrics from a table format of this class only. It owns nothing.
 */
final class ProteanTableFormat extends BlockBasedTableConfigWithAccessibleCache {
  private final String policy;
  private final String sampleGroup;

  ProteanTableFormat(
      final BlockBasedTableConfigWithAccessibleCache other, final String policy, final String sampleGroup) {
    this.policy = policy;
    this.sampleGroup = sampleGroup;
    ProteanTableConfig.copyOptions(other, this);
    setBlockCache(other.blockCache()); // This class keeps a reference of its own.
  }

  /** The filter policy of new files. */
  String policy() {
    return policy;
  }

  /** Tables of the same group share the samples of their queries. */
  String sampleGroup() {
    return sampleGroup;
  }

  @Override
  protected long newTableFactoryHandle() {
    return ProteanTableConfig.toProtean(super.newTableFactoryHandle(), policy, sampleGroup);
  }
}
