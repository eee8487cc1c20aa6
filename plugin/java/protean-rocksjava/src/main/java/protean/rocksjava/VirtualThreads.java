// SPDX-License-Identifier: Apache-2.0

package protean.rocksjava;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Tells virtual threads apart, in a Java VM that may have them (since Java 21) or not. */
final class VirtualThreads {
  private static final MethodHandle IS_VIRTUAL = find();

  private VirtualThreads() {}

  /** Whether the current thread is virtual. */
  static boolean isVirtual() {
    if (IS_VIRTUAL == null) {
      return false;
    }
    try {
      return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (final Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle find() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (final NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }
}
