// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.util.Map;
import java.util.TreeMap;

/** The arguments of a command, each as {@code --name=value}. */
final class Arguments {
  private final Map<String, String> values = new TreeMap<>();

  Arguments(final String[] args, final int first) {
    for (int i = first; i < args.length; i++) {
      final int equals = args[i].indexOf('=');
      if (!args[i].startsWith("--") || equals < 0) {
        throw new IllegalArgumentException("not of the form --name=value: " + args[i]);
      }
      values.put(args[i].substring(2, equals), args[i].substring(equals + 1));
    }
  }

  String text(final String name) {
    final String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("--" + name + "=… is missing");
    }
    return value;
  }

  String text(final String name, final String otherwise) {
    return values.getOrDefault(name, otherwise);
  }

  long number(final String name) {
    return Long.parseLong(text(name));
  }

  long number(final String name, final long otherwise) {
    return Long.parseLong(text(name, Long.toString(otherwise)));
  }
}
