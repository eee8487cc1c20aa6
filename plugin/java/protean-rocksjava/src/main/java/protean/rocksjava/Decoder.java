// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.IntStream;

/** Reads the values that a native function has encoded in an array of bytes. */
final class Decoder {
  private final ByteBuffer bytes;

  Decoder(final byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes);
  }

  long number() {
    return bytes.getLong();
  }

  double real() {
    return bytes.getDouble();
  }

  String text() {
    final byte[] text = new byte[Math.toIntExact(number())];
    bytes.get(text);
    return Native.text(text);
  }

  List<Facts> list() {
    return IntStream.range(0, Math.toIntExact(number())).mapToObj(i -> new Facts(this)).toList();
  }
}
