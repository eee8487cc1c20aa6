// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Why a refresh ended early, and what it had done by then. What is done holds; another refresh goes on from there. */
public final class RefreshException extends RocksDBException {
  private static final long serialVersionUID = 1L;

  private final transient RefreshResult result;

  RefreshException(final Status status, final RefreshResult result) {
    super(status);
    this.result = result;
  }

  /** {@return what had been done} */
  public RefreshResult result() {
    return result;
  }
}
