// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.Uuid;

/** The settings of a broker that is its own controller, on the loopback device, with all its data in one folder. */
final class BrokerSettings {
  private BrokerSettings() {}

  /** Writes {@code server.properties}, {@code bootstrap} (the broker's address) and {@code cluster} (its id). */
  static void write(final Arguments arguments) throws IOException {
    final Path folder = Path.of(arguments.text("folder")).toAbsolutePath();
    Files.createDirectories(folder);
    final String host = InetAddress.getLoopbackAddress().getHostAddress();
    final String broker;
    final String controller;
    try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ServerSocket second = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      broker = host + ":" + first.getLocalPort();
      controller = host + ":" + second.getLocalPort();
    }
    Files.write(
        folder.resolve("server.properties"),
        List.of(
            "process.roles=broker,controller",
            "node.id=1",
            "controller.quorum.voters=1@" + controller,
            "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners=PLAINTEXT://" + broker + ",CONTROLLER://" + controller,
            "advertised.listeners=PLAINTEXT://" + broker,
            "log.dirs=" + folder.resolve("topics"),
            "auto.create.topics.enable=false",
            "offsets.topic.num.partitions=4",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.num.partitions=4",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "group.initial.rebalance.delay.ms=0",
            // The events are older than the week for which a broker keeps records.
            "log.retention.ms=-1",
            // A transaction that was killed ends soon after its time is over.
            "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000"));
    Files.writeString(folder.resolve("bootstrap"), broker);
    Files.writeString(folder.resolve("cluster"), Uuid.randomUuid().toString());
  }
}
