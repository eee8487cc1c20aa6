// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** The functions of {@code plugin/java/native}. Text is passed as UTF-8 bytes; {@link Decoder} reads the results. */
final class Native {
  private Native() {}

  /** Returns whether Protean is registered with RocksDB. Must be called once, under a lock. */
  static native boolean initialize(Class<?> optionsUtil, Class<?> tableConfig);

  static native byte[] version();

  /** Throws if {@code RocksDB.open} would refuse that filter policy. */
  static native void checkPolicy(byte[] policy) throws RocksDBException;

  /** Takes ownership of a table factory, and returns another one, which the caller owns. */
  static native long toProtean(long tableFactory, byte[] policy, byte[] sampleGroup, boolean rangeFilters)
      throws RocksDBException;

  /** {@code readOptions} is 0 for the default ones. Here and below, bounds of ranges may be null. */
  static native byte[] approximateCount(long db, long columnFamily, long readOptions, byte[] start, byte[] limit)
      throws RocksDBException;

  /** Asks about the keys {@code starts} if {@code limits} is null, and otherwise about ranges; so does the one below. */
  static native boolean[] mayExist(long db, long columnFamily, long readOptions, byte[][] starts, byte[][] limits)
      throws RocksDBException;

  /** Returns what {@link #closeSstFileFilter} frees. */
  static native long openSstFileFilter(long options, byte[] path) throws RocksDBException;

  static native void closeSstFileFilter(long filter);

  static native boolean[] mayExistInSstFile(long filter, byte[][] starts, byte[][] limits);

  static native byte[] filterStatistics(long db, long columnFamily) throws RocksDBException;

  static native byte[] filterSums(byte[] folder);

  static native byte[] prometheus(long[] dbs, long[] columnFamilies) throws RocksDBException;

  static native void setTableOption(long db, long columnFamily, byte[] name, byte[] value) throws RocksDBException;

  /** Returns the text of options after one of them has been set. */
  static native byte[] setRefreshOption(byte[] options, byte[] name, byte[] value) throws RocksDBException;

  /** {@code options} are a text; {@code watched} is told the progress, and may be null. */
  static native byte[] refreshFilters(long db, long columnFamily, byte[] options, RefreshOptions watched)
      throws RocksDBException;

  /** Returns what {@link #closeFilterRefresher} frees. */
  static native long openFilterRefresher(long db, long columnFamily, byte[] options, long periodSeconds,
      byte[] socket) throws RocksDBException;

  /** Waits for the file that is being rewritten. */
  static native void closeFilterRefresher(long refresher);

  static native byte[] latestRefresh(long refresher);

  /** Turns a C++ {@code Status} into an exception. Called by native functions. */
  static RocksDBException exception(final int code, final int subCode, final byte[] state) {
    return new RocksDBException(status(code, subCode, text(state)));
  }

  static Status status(final int code, final int subCode, final String state) {
    return new Status(
        Arrays.stream(Status.Code.values()).filter(known -> known.getValue() == code).findFirst()
            .orElse(Status.Code.Undefined),
        Arrays.stream(Status.SubCode.values()).filter(known -> known.getValue() == subCode).findFirst()
            .orElse(Status.SubCode.Undefined),
        state);
  }

  static byte[] bytes(final String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(final byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
