// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.file.Path;
import java.util.List;
import org.rocksdb.Options;
import org.rocksdb.RocksDBException;

/**
 * The filter of one SST file that belongs to no open DB: a file of a backup, or one that is going to be ingested. Thread
 * safe; calls wait for each other.
 */
public final class SstFileFilter implements AutoCloseable {
  private long handle; // 0 when closed; read and written under the lock of this object

  private SstFileFilter(final long handle) {
    this.handle = handle;
  }

  /**
   * Opens a file, and reads its filter and its index.
   *
   * @param options those of its column family, whose table is a {@code ProteanTable}; can be closed afterwards
   * @param file an SST file
   * @return its filter, which must be closed; if the file has no filter of Protean, or a damaged one, it may hold anything
   * @throws RocksDBException {@code InvalidArgument} for another table, {@code Corruption} if the file is damaged, or an error
   *     of reading
   * @throws IllegalStateException if the options are closed
   */
  public static SstFileFilter open(final Options options, final Path file) throws RocksDBException {
    if (!options.isOwningHandle()) {
      throw new IllegalStateException("the Options are closed");
    }
    Protean.load();
    return new SstFileFilter(Native.openSstFileFilter(options.getNativeHandle(), Native.bytes(file.toString())));
  }

  /**
   * Whether keys may exist: false says that the file certainly has no entry of the key, neither a value nor a deletion. (A
   * deletion of a range is no entry.)
   *
   * @param keys without timestamps
   * @return an answer for each key
   * @throws IllegalStateException if this is closed
   */
  public synchronized boolean[] keysMayExist(final List<byte[]> keys) {
    return Native.mayExistInSstFile(openHandle(), Protean.arrays(keys), null);
  }

  /**
   * Whether ranges may hold a key of which the file has an entry.
   *
   * @param ranges with bounds on both sides or open ends
   * @return an answer for each range
   * @throws IllegalStateException if this is closed
   */
  public synchronized boolean[] rangesMayExist(final List<KeyRange> ranges) {
    final byte[][][] bounds = KeyRange.bounds(ranges);
    return Native.mayExistInSstFile(openHandle(), bounds[0], bounds[1]);
  }

  /** Closes the file. Can be called more than once. */
  @Override
  public synchronized void close() {
    if (handle != 0) {
      Native.closeSstFileFilter(handle);
      handle = 0;
    }
  }

  private long openHandle() {
    if (handle == 0) {
      throw new IllegalStateException("the SstFileFilter is closed");
    }
    return handle;
  }
}
