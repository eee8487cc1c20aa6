// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.kafka.common.config.ConfigException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import protean.rocksjava.Protean;

/** Loads Protean's native library, and decides what is done if that fails. */
final class ProteanLibrary {
  private static final Logger LOG = LoggerFactory.getLogger(ProteanLibrary.class);
  private static final AtomicBoolean LOGGED = new AtomicBoolean();
  private static String failure;

  private ProteanLibrary() {}

  /**
   * Loads the library.
   *
   * @return false if it cannot be loaded, and the application shall go on without it; the first time, this is logged
   * @throws ConfigException if it cannot be loaded, and the application shall not go on
   */
  static boolean load(final ProteanSettings settings) {
    return load(settings, ProteanLibrary::reason);
  }

  /** The reason why the library cannot be loaded. The outcome for the first store holds for all stores. */
  private static synchronized String reason() {
    if (failure == null) {
      failure = Protean.unavailableReason();
    }
    return failure;
  }

  static boolean load(final ProteanSettings settings, final Supplier<String> unavailableReason) {
    final String reason = unavailableReason.get();
    if (reason == null) {
      return true;
    }
    if (!settings.stockOnFailure()) {
      throw new ConfigException(
          "Protean cannot be loaded: " + reason + ". To run without range filters, set " + ProteanSettings.ENABLED
              + "=false, or " + ProteanSettings.ON_FAILURE + "=stock");
    }
    if (LOGGED.compareAndSet(false, true)) {
      LOG.warn("State stores have no range filters, because Protean cannot be loaded: {}", reason);
    }
    return false;
  }
}
