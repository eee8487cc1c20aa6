package protean.kafka;

import org.apache.kafka.streams.state.internals.BlockBasedTableConfigWithAccessibleCache;
import protean.rocksjava.ProteanTableConfig;

/**
 * A {@code ProteanTable} with all options of another table, the block cache included, and another filter policy. Kafka
 * reads the cache's metrics from a table format of this class only. It owns nothing.
 *
 * <p>A persistent cache is not taken over, since RocksDB's binding does not tell it.
 */
final class ProteanTableFormat extends BlockBasedTableConfigWithAccessibleCache {
  private final String policy;
  private final String sampleGroup;

  @SuppressWarnings("deprecation")
  ProteanTableFormat(
      final BlockBasedTableConfigWithAccessibleCache other, final String policy, final String sampleGroup) {
    this.policy = policy;
    this.sampleGroup = sampleGroup;
    setBlockCache(other.blockCache());
    setBlockCacheSize(other.blockCacheSize());
    setCacheNumShardBits(other.cacheNumShardBits());
    setNoBlockCache(other.noBlockCache());
    setCacheIndexAndFilterBlocks(other.cacheIndexAndFilterBlocks());
    setCacheIndexAndFilterBlocksWithHighPriority(other.cacheIndexAndFilterBlocksWithHighPriority());
    setPinL0FilterAndIndexBlocksInCache(other.pinL0FilterAndIndexBlocksInCache());
    setPinTopLevelIndexAndFilter(other.pinTopLevelIndexAndFilter());
    setIndexType(other.indexType());
    setIndexShortening(other.indexShortening());
    setIndexBlockRestartInterval(other.indexBlockRestartInterval());
    setMetadataBlockSize(other.metadataBlockSize());
    setEnableIndexCompression(other.enableIndexCompression());
    setDataBlockIndexType(other.dataBlockIndexType());
    setDataBlockHashTableUtilRatio(other.dataBlockHashTableUtilRatio());
    setBlockSize(other.blockSize());
    setBlockSizeDeviation(other.blockSizeDeviation());
    setBlockRestartInterval(other.blockRestartInterval());
    setBlockAlign(other.blockAlign());
    setUseDeltaEncoding(other.useDeltaEncoding());
    setChecksumType(other.checksumType());
    setVerifyCompression(other.verifyCompression());
    setReadAmpBytesPerBit(other.readAmpBytesPerBit());
    setFormatVersion(other.formatVersion());
    setFilterPolicy(other.filterPolicy());
    setPartitionFilters(other.partitionFilters());
    setOptimizeFiltersForMemory(other.optimizeFiltersForMemory());
    setWholeKeyFiltering(other.wholeKeyFiltering());
  }

  /** Which filters new files get. */
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
