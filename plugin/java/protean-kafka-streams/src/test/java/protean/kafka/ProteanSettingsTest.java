// SPDX-License-Identifier: Apache-2.0

package protean.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;

class ProteanSettingsTest {
  @Test
  void defaults() {
    final ProteanSettings settings = ProteanSettings.of(Map.of("application.id", "test", "proteanish", 1));
    assertTrue(settings.enabled());
    assertFalse(settings.stockOnFailure());
    assertEquals("proteus:12", settings.policyOf("store"));
    assertNull(settings.setter());
  }

  @Test
  void values() {
    final ProteanSettings settings =
        ProteanSettings.of(
            Map.of(
                "protean.enabled", "false",
                "protean.on.failure", "stock",
                "protean.filter.policy", " surf:0:4 ",
                "protean.rocksdb.config.setter", StorePair.SmallFiles.class.getName()));
    assertFalse(settings.enabled());
    assertTrue(settings.stockOnFailure());
    assertEquals("surf:0:4", settings.policyOf("store"));
    assertEquals(StorePair.SmallFiles.class, settings.setter());
    assertFalse(ProteanSettings.of(Map.of("protean.enabled", false)).enabled());
    assertEquals(
        StorePair.SmallFiles.class,
        ProteanSettings.of(Map.of("protean.rocksdb.config.setter", StorePair.SmallFiles.class)).setter());
  }

  @Test
  void aPolicyForEachStore() {
    final ProteanSettings settings =
        ProteanSettings.of(
            Map.of("protean.filter.policy.a", "surf:0:4", "protean.filter.policy.a.b-1.2", "bloomfilter:10"));
    assertEquals("surf:0:4", settings.policyOf("a"));
    assertEquals("surf:0:4", settings.policyOf("a.1700000000000"));
    assertEquals("surf:0:4", settings.policyOf("a.-60000"));
    assertEquals("proteus:12", settings.policyOf("a.b"));
    assertEquals("bloomfilter:10", settings.policyOf("a.b-1.2"));
    assertEquals("bloomfilter:10", settings.policyOf("a.b-1.2.0"));
  }

  @Test
  void whatIsWrongIsRefused() {
    for (final Map<String, ?> wrong :
        List.of(
            Map.of("protean.enable", "true"),
            Map.of("protean.enabled", "perhaps"),
            Map.of("protean.on.failure", "ignore"),
            Map.of("protean.filter.policy", ""),
            Map.of("protean.filter.policy", 12),
            Map.of("protean.filter.policy.a", " "),
            Map.of("protean.rocksdb.config.setter", "no.such.Class"),
            Map.of("protean.rocksdb.config.setter", String.class.getName()),
            Map.of("protean.rocksdb.config.setter", ProteanConfigSetter.class.getName()))) {
      final ConfigException e = assertThrows(ConfigException.class, () -> ProteanSettings.of(wrong), wrong.toString());
      assertTrue(e.getMessage().contains(wrong.keySet().iterator().next()), e.getMessage());
    }
  }

  @Test
  void withoutTheNativeLibrary() {
    final ProteanSettings fail = ProteanSettings.of(Map.of());
    final ConfigException e =
        assertThrows(ConfigException.class, () -> ProteanLibrary.load(fail, () -> "there is none"));
    assertTrue(e.getMessage().contains("there is none"), e.getMessage());
    assertTrue(e.getMessage().contains("protean.on.failure=stock"), e.getMessage());
    final ProteanSettings stock = ProteanSettings.of(Map.of("protean.on.failure", "stock"));
    assertFalse(ProteanLibrary.load(stock, () -> "there is none"));
    assertFalse(ProteanLibrary.load(stock, () -> "there is none"));
    assertTrue(ProteanLibrary.load(fail, () -> null));
  }
}
