// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

/** How far a refresh is. Later versions may add numbers. */
public final class RefreshProgress {
  private final Facts facts;

  RefreshProgress(final Facts facts) {
    this.facts = facts;
  }

  /**
   * The files of the column family.
   *
   * @return their number
   */
  public long files() {
    return facts.count("files");
  }

  /**
   * The files whose outcome is known.
   *
   * @return their number
   */
  public long filesDecided() {
    return facts.count("files_decided");
  }

  /**
   * The size of all files.
   *
   * @return their bytes
   */
  public long bytes() {
    return facts.count("bytes");
  }

  /**
   * The size of the files whose outcome is known, from which the time left can be told.
   *
   * @return their bytes
   */
  public long bytesDecided() {
    return facts.count("bytes_decided");
  }

  /**
   * What was read from files, to learn their keys.
   *
   * @return the bytes
   */
  public long bytesRead() {
    return facts.count("bytes_read");
  }

  /**
   * The size of the files that were rewritten, as they were.
   *
   * @return their bytes
   */
  public long bytesRewritten() {
    return facts.count("bytes_rewritten");
  }
}
