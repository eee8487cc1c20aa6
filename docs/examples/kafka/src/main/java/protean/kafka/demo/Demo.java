// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.util.Arrays;

/** The commands of the demonstration; {@code scripts/kafka_streams_demo.sh} shows how they go together. */
public final class Demo {
  private Demo() {}

  private static final String USAGE =
      String.join(
          "\n",
          "usage: Demo COMMAND --name=value ...",
          "  broker    writes the settings of a broker of one node on free ports",
          "            --folder=DIR",
          "  generate  creates input topics, if need be, and writes records to one of them",
          "            --bootstrap=HOST:PORT --input=NAME --topic=readings|alarms|visits --records=N",
          "            [--first=0] [--sensors=20000] [--value-bytes=160] [--partitions=4] [--seed=1]",
          "  run       runs the application until it has processed all input",
          "            --bootstrap=HOST:PORT --input=NAME --application=ID --state=DIR",
          "            [--policy=stock|surf:0:4|proteus:12|...] [--cache-mib=8] [--write-buffer-kib=1024]",
          "            [--direct-reads=1]",
          "            [--result=FILE, what the alarms after the first --warm-up=1 of this run cost]",
          "  kill      runs two instances, kills one with SIGKILL halfway, and lets the other finish",
          "            as run, and [--percent=35]",
          "  compare   compares the output of two applications",
          "            --bootstrap=HOST:PORT --first=ID --second=ID [--topics=joined,windows,sessions]",
          "  inspect   shows what is in the state of an application that has ended",
          "            --state=DIR [--result=FILE]",
          "  report    prints a table of results",
          "            --results=FILE,FILE,...");

  public static void main(final String[] args) throws Exception {
    final String command = args.length == 0 ? "" : args[0];
    boolean ok = true;
    try {
      final Arguments arguments = new Arguments(args, Math.min(1, args.length));
      switch (command) {
        case "broker" -> BrokerSettings.write(arguments);
        case "generate" -> Input.generate(arguments);
        case "run" -> ok = Instance.run(arguments);
        case "kill" -> ok = KillTest.run(arguments, Arrays.copyOfRange(args, 1, args.length));
        case "compare" -> ok = Comparison.run(arguments);
        case "inspect" -> StateInspection.run(arguments);
        case "report" -> Report.print(arguments);
        default -> throw new IllegalArgumentException("unknown command: " + command);
      }
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage() + "\n" + USAGE);
      ok = false;
    }
    System.exit(ok ? 0 : 1);
  }
}
