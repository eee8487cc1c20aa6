// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

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

  <T> List<T> list(final Function<Decoder, T> element) {
    final int size = Math.toIntExact(number());
    final List<T> list = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      list.add(element.apply(this));
    }
    return List.copyOf(list);
  }
}
