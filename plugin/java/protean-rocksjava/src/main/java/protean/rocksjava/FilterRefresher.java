// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Calls {@link Protean#refreshFilters} again and again, in a thread of its own. If it is given the path of a socket, it also
 * does so when asked with {@code protean refresh --live}, and the process answers {@code protean statistics --live}, {@code
 * protean samples save --live} and HTTP requests at that socket ({@code docs/operating.md}). Only the user of the process, and
 * root, can ask. The facts {@code refresh} of {@link FilterStatistics} tell how far it is. Thread safe.
 *
 * <p>Close it before the DB and the column family's handle.
 */
public final class FilterRefresher implements AutoCloseable {
  /**
   * What the latest refresh has done, whether the period or a request was its reason.
   *
   * @param runs refreshes that have ended since the refresher was started
   * @param result what the latest one has done, before it failed if it did
   * @param error why it failed; null if it did not
   */
  public record Latest(long runs, RefreshResult result, RefreshException error) {}

  private long handle; // 0 when closed; read and written under the lock of this object

  private FilterRefresher(final long handle) {
    this.handle = handle;
  }

  /**
   * Starts to refresh: the first time after a period, and again a period after each refresh has ended; and to answer requests
   * at a socket, as all refreshers of the DB with the same socket do.
   *
   * @param db an open DB
   * @param columnFamily one of its column families; null for the default one
   * @param options limits and conditions, without a progress callback
   * @param period from a second to a century
   * @param socket the path of the socket, of up to 107 bytes, such as {@code protean.sock} in the DB's folder, where the
   *     command {@code protean} looks for it; null to answer no requests
   * @return the refresher, which must be closed
   * @throws RocksDBException if the socket cannot be used; nothing has been started then
   * @throws IllegalArgumentException if the period is another one, or there is a progress callback
   * @throws IllegalStateException if the DB or the column family's handle is closed
   */
  public static FilterRefresher start(final RocksDB db, final ColumnFamilyHandle columnFamily, final RefreshOptions options,
      final Duration period, final Path socket) throws RocksDBException {
    final Protean.ColumnFamily family = new Protean.ColumnFamily(db, columnFamily);
    Objects.requireNonNull(options, "options");
    if (period.compareTo(Duration.ofSeconds(1)) < 0 || period.compareTo(Duration.ofDays(36500)) > 0) {
      throw new IllegalArgumentException("period=" + period + " is not allowed; allowed: a second to a century");
    }
    if (options.progress() != null) {
      throw new IllegalArgumentException("a progress callback is not allowed for a FilterRefresher; allowed: to ask for its"
          + " progress, by the numbers refresh.bytes and refresh.bytes_decided of Protean.filterStatistics");
    }
    Protean.load();
    return new FilterRefresher(Native.openFilterRefresher(family.dbHandle(), family.handle(),
        Native.bytes(options.toString()), period.toSeconds(), Native.bytes(socket == null ? "" : socket.toString())));
  }

  /**
   * {@return what the latest refresh has done; empty before the first one has ended}
   *
   * @throws IllegalStateException if this is closed
   */
  public synchronized Optional<Latest> latest() {
    if (handle == 0) {
      throw new IllegalStateException("the FilterRefresher is closed");
    }
    final Decoder in = new Decoder(Native.latestRefresh(handle));
    final long runs = in.number();
    if (runs == 0) {
      return Optional.empty();
    }
    final RefreshResult.Ended ended = RefreshResult.Ended.of(in);
    return Optional.of(new Latest(runs, ended.result(), ended.error()));
  }

  /** Stops refreshing: waits for the file that is being rewritten. Can be called more than once. */
  @Override
  public synchronized void close() {
    if (handle != 0) {
      Native.closeFilterRefresher(handle);
      handle = 0;
    }
  }
}
