// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.util.ArrayList;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** An application that knows nothing of Protean, and opens a DB with an OPTIONS file. Run by {@link AgentTest}. */
public final class AgentMain {
  private AgentMain() {}

  public static void main(final String[] arguments) {
    RocksDB.loadLibrary();
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions(); ConfigOptions config = new ConfigOptions()) {
      OptionsUtil.loadOptionsFromFile(config, arguments[0], options, families);
      try (RocksDB db = RocksDB.open(options, arguments[1], families, handles)) {
        db.put(new byte[] {1}, new byte[] {2});
        System.out.println("opened");
      }
    } catch (final RocksDBException | IllegalArgumentException e) {
      System.out.println("refused: " + e.getMessage());
    }
  }
}
