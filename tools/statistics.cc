// SPDX-License-Identifier: Apache-2.0

//  protean statistics: the filter statistics of a process that has the DB open.

#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/live_request.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class StatisticsCommand : public Command {
 public:
  const char* name() const override { return "statistics"; }
  const char* summary() const override {
    return "Prints what the filters of a running process have done.";
  }
  const char* usage() const override { return "statistics --db=DIR  [FLAGS]"; }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  Target target_;
  LiveFlags live_;
  bool json_ = false;
  bool prometheus_ = false;
};

const char* StatisticsCommand::help() const {
  return R"(What filters have done is known only to the process that has the DB open. This command asks it, at a
socket of that process: protean.sock in the DB's folder, or that of --socket. The process must have a
protean::FilterRefresher with that socket. Ask as the user whose process it is, or as root.

Prints the FilterStatistics (plugin/filter_statistics.h) of the column families that have a
FilterRefresher: tables, with --json one object per line, with --prometheus Prometheus's text format.

Exit code: 0, 2 if the command failed, for instance because no process answered.

Examples:
  protean statistics --db=/data/db
  protean statistics --db=/data/db --json > statistics.json
  protean statistics --db=/data/db --prometheus > /var/lib/node_exporter/protean.prom
)";
}

void StatisticsCommand::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments, "those that have a FilterRefresher");
  live_.AddFlags(arguments);
  arguments->Add("json", "print JSON, one object per line", &json_);
  arguments->Add("prometheus", "print the text format of Prometheus",
                 &prometheus_);
}

Status StatisticsCommand::Run(const std::vector<std::string>& operands,
                              std::ostream& out, std::ostream& /*err*/,
                              bool* /*found*/) {
  if (!operands.empty()) {
    return Status::InvalidArgument("give --db=DIR; " + operands[0] +
                                   " is not a flag");
  }
  if (json_ && prometheus_) {
    return Status::InvalidArgument("give --json or --prometheus, not both");
  }
  Status s = target_.Open(operands);
  if (!s.ok()) return s;
  LiveParameters parameters;
  if (!target_.column_family().empty()) {
    parameters["column_family"] = target_.column_family();
  }
  if (!prometheus_) parameters["format"] = json_ ? "json" : "text";
  const Interrupt interrupt;
  std::string body;
  s = AskLive(
      target_, live_, prometheus_ ? "GET /metrics" : "GET /statistics",
      parameters, [&](const Json*) { return !interrupt.requested(); }, &body);
  if (s.ok()) out << body;
  return s;
}

}  // namespace

std::unique_ptr<Command> NewStatistics() {
  return std::make_unique<StatisticsCommand>();
}

}  // namespace ROCKSDB_NAMESPACE::protean
