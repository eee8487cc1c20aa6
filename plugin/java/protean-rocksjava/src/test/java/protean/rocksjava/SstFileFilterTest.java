// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.EnvOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Status;
import org.rocksdb.TableFormatConfig;

/** Existence in a file of no DB. */
class SstFileFilterTest {
  @TempDir Path folder;

  private static Options options(final TableFormatConfig table) {
    return new Options().setTableFormatConfig(table);
  }

  /** Writes 1000 keys, each 1000 above the one before. */
  private Path write(final Options options) throws RocksDBException {
    final Path file = folder.resolve("keys.sst");
    try (EnvOptions env = new EnvOptions(); SstFileWriter writer = new SstFileWriter(env, options)) {
      writer.open(file.toString());
      for (int i = 0; i < 1000; i++) {
        writer.put(Records.bytes(1000 * i), new byte[0]);
      }
      writer.finish();
    }
    return file;
  }

  private static SstFileFilter openAndCloseOptions(final Path file) throws RocksDBException {
    Protean.load();
    try (Options options = options(new ProteanTableConfig())) {
      return SstFileFilter.open(options, file);
    }
  }

  @Test
  void tellsWhatMayExist() throws RocksDBException {
    final Path file;
    try (Options options = options(new ProteanTableConfig().setRangeFilter("surf:0:12"))) {
      file = write(options);
    }
    try (SstFileFilter filter = openAndCloseOptions(file)) {
      final List<byte[]> keys = new ArrayList<>();
      final List<KeyRange> ranges = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        keys.add(Records.bytes(1000 * i));
        keys.add(Records.bytes(1000 * i + 500));
        ranges.add(new KeyRange(Records.bytes(1000 * i), Records.bytes(1000 * i + 1)));
        ranges.add(new KeyRange(Records.bytes(1000 * i + 500), Records.bytes(1000 * i + 600)));
      }
      final boolean[] keysMayExist = filter.keysMayExist(keys);
      final boolean[] rangesMayExist = filter.rangesMayExist(ranges);
      int inVain = 0;
      for (int i = 0; i < 2000; i += 2) {
        assertTrue(keysMayExist[i] && rangesMayExist[i], "what exists may exist");
        inVain += (keysMayExist[i + 1] ? 1 : 0) + (rangesMayExist[i + 1] ? 1 : 0);
      }
      assertTrue(inVain < 200, inVain + " of 2000");
      assertEquals(0, filter.keysMayExist(List.of()).length);
      assertFalse(filter.rangesMayExist(List.of(new KeyRange(Records.bytes(9), Records.bytes(0))))[0]);
      // Open ends.
      final byte[] first = Records.bytes(0);
      final byte[] last = Records.bytes(999_000);
      final byte[] behindLast = Records.bytes(999_001);
      assertArrayEquals(new boolean[] {true, false, true, true, false, true},
          filter.rangesMayExist(List.of(new KeyRange(null, Records.bytes(1)), new KeyRange(null, first),
              new KeyRange(null, last), new KeyRange(last, null), new KeyRange(behindLast, null), new KeyRange(null, null))));
      assertThrows(
          NullPointerException.class, () -> filter.keysMayExist(Arrays.asList(Records.bytes(0), null)));
    }
  }

  // Without a filter of Protean, anything may exist.
  @Test
  void fileWithoutFilter() throws RocksDBException {
    final Path file;
    try (Options options = options(new BlockBasedTableConfig())) {
      file = write(options);
      final RocksDBException e = assertThrows(RocksDBException.class, () -> SstFileFilter.open(options, file));
      assertEquals(Status.Code.InvalidArgument, e.getStatus().getCode());
      assertTrue(e.getMessage().contains("ProteanTable"), e.getMessage());
    }
    try (SstFileFilter filter = openAndCloseOptions(file)) {
      assertTrue(filter.keysMayExist(List.of(Records.bytes(500)))[0]);
    }
  }

  @Test
  void refusesWhatItCannotOpen() throws IOException, RocksDBException {
    assertThrows(RocksDBException.class, () -> openAndCloseOptions(folder.resolve("missing.sst")));
    final Path text = folder.resolve("text.sst");
    Files.writeString(text, "not a file of RocksDB, however long it may be, and however much it may look like one");
    final RocksDBException e = assertThrows(RocksDBException.class, () -> openAndCloseOptions(text));
    assertEquals(Status.Code.Corruption, e.getStatus().getCode());
    final Options closed = options(new ProteanTableConfig());
    closed.close();
    assertThrows(IllegalStateException.class, () -> SstFileFilter.open(closed, text));
  }

  @Test
  void isClosedOnce() throws RocksDBException {
    final Path file;
    try (Options options = options(new ProteanTableConfig())) {
      file = write(options);
    }
    final SstFileFilter filter = openAndCloseOptions(file);
    filter.close();
    filter.close();
    assertThrows(IllegalStateException.class, () -> filter.keysMayExist(List.of()));
    assertThrows(IllegalStateException.class, () -> filter.rangesMayExist(List.of()));
  }
}
