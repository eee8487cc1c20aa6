// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.state.RocksDBConfigSetter;

/**
 * The properties {@code protean.*} of a Streams application.
 *
 * @param enabled if false, everything works as without Protean
 * @param stockOnFailure whether to go on without filters if the native library cannot be used
 * @param policy the filter policy of all stores except those in {@code policies}
 * @param policies filter policies by the stores' names
 * @param setter the application's own setter, or null
 */
record ProteanSettings(
    boolean enabled,
    boolean stockOnFailure,
    String policy,
    Map<String, String> policies,
    Class<? extends RocksDBConfigSetter> setter) {
  static final String PREFIX = "protean.";
  static final String ENABLED = "protean.enabled";
  static final String ON_FAILURE = "protean.on.failure";
  static final String POLICY = "protean.filter.policy";
  static final String SETTER = "protean.rocksdb.config.setter";

  private static final String POLICY_OF_STORE = POLICY + ".";
  private static final Pattern SEGMENT = Pattern.compile("\\.-?\\d+$");

  /**
   * Reads the settings from the application's properties.
   *
   * @throws ConfigException if a property is unknown or has an invalid value
   */
  static ProteanSettings of(final Map<String, ?> properties) {
    final Map<String, String> policies = new HashMap<>();
    properties.forEach(
        (name, value) -> {
          if (name.startsWith(POLICY_OF_STORE)) {
            policies.put(name.substring(POLICY_OF_STORE.length()), policy(name, value));
          } else if (name.startsWith(PREFIX) && !Set.of(ENABLED, ON_FAILURE, POLICY, SETTER).contains(name)) {
            throw new ConfigException(
                "Unknown property " + name + "; there are " + ENABLED + ", " + ON_FAILURE + ", " + POLICY + ", "
                    + POLICY_OF_STORE + "STORE and " + SETTER);
          }
        });
    final Object enabled = properties.get(ENABLED);
    final Object policy = properties.get(POLICY);
    return new ProteanSettings(
        enabled == null || (Boolean) ConfigDef.parseType(ENABLED, enabled, ConfigDef.Type.BOOLEAN),
        stockOnFailure(properties.get(ON_FAILURE)),
        policy == null ? "proteus:12" : policy(POLICY, policy),
        policies,
        setter(properties.get(SETTER)));
  }

  /** The filter policy of a store, or of a segment of a store, which is named after the store and a time. */
  String policyOf(final String store) {
    final String own = policies.get(store);
    return own != null ? own : policies.getOrDefault(storeOf(store), policy);
  }

  /** The name of the store that a segment belongs to; a name that does not end like a segment's is returned unchanged. */
  static String storeOf(final String segment) {
    return SEGMENT.matcher(segment).replaceFirst("");
  }

  private static String policy(final String name, final Object value) {
    final String policy = value instanceof String string ? string.trim() : "";
    if (policy.isEmpty()) {
      throw new ConfigException(name, value, "It must be a filter policy, such as proteus:12");
    }
    return policy;
  }

  private static boolean stockOnFailure(final Object value) {
    final String choice = value == null ? "fail" : value.toString().trim().toLowerCase(Locale.ROOT);
    return switch (choice) {
      case "fail" -> false;
      case "stock" -> true;
      default -> throw new ConfigException(ON_FAILURE, value, "It must be fail or stock");
    };
  }

  private static Class<? extends RocksDBConfigSetter> setter(final Object value) {
    if (value == null) {
      return null;
    }
    final Class<?> setter = (Class<?>) ConfigDef.parseType(SETTER, value, ConfigDef.Type.CLASS);
    if (!RocksDBConfigSetter.class.isAssignableFrom(setter) || setter == ProteanConfigSetter.class) {
      throw new ConfigException(SETTER, value, "It must be an application's own RocksDBConfigSetter");
    }
    return setter.asSubclass(RocksDBConfigSetter.class);
  }
}
