// SPDX-License-Identifier: Apache-2.0

package protean.kafka.demo;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;

/**
 * Two instances share the tasks of an application. When they have processed a part of the input, one is killed with
 * SIGKILL; the other restores the tasks from the changelog topics and finishes them.
 */
final class KillTest {
  private static final long POLLED_EVERY_MILLIS = 200;

  private KillTest() {}

  /** Returns whether the killed instance was at work, and the other one ended well. */
  static boolean run(final Arguments arguments, final String[] args)
      throws IOException, ExecutionException, InterruptedException {
    final String bootstrap = arguments.text("bootstrap");
    final String application = arguments.text("application");
    final List<String> topics = Input.topics(arguments.text("input"));
    final long percent = arguments.number("percent", 35);
    final Process victim = start(args, Path.of(arguments.text("state"), "killed"), Redirect.DISCARD);
    final Process survivor = start(args, Path.of(arguments.text("state"), "survivor"), Redirect.INHERIT);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> List.of(victim, survivor).forEach(Process::destroyForcibly)));
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        Progress progress = new Progress(bootstrap, application, topics)) {
      int done = 0;
      while (victim.isAlive() && survivor.isAlive() && (done < percent || membersWithTasks(admin, application) < 2)) {
        Thread.sleep(POLLED_EVERY_MILLIS);
        done = progress.percent();
      }
      if (!victim.isAlive() || !survivor.isAlive() || done == 100) {
        System.out.println("FAILED: nothing was left to do when an instance should have been killed");
        return false;
      }
      victim.destroyForcibly().waitFor();
      System.out.printf("killed one of two instances with SIGKILL after %d %% of the input%n", done);
      return survivor.waitFor() == 0;
    }
  }

  /** An instance as another process of this program, with a folder of its own. */
  private static Process start(final String[] args, final Path state, final Redirect output) throws IOException {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Demo.class.getName(), "run"));
    command.addAll(Arrays.asList(args));
    command.add("--state=" + state);
    return new ProcessBuilder(command).redirectOutput(output).redirectError(Redirect.INHERIT).start();
  }

  private static long membersWithTasks(final Admin admin, final String application)
      throws ExecutionException, InterruptedException {
    return admin.describeConsumerGroups(List.of(application)).describedGroups().get(application).get().members().stream()
        .filter(KillTest::hasTasks)
        .count();
  }

  private static boolean hasTasks(final MemberDescription member) {
    return !member.assignment().topicPartitions().isEmpty();
  }
}
