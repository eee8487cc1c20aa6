//  protean refresh: rewrites files whose filters no longer suit the queries.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/refresh_filters.h"
#include "tools/command.h"
#include "tools/opened_db.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class RefreshCommand : public Command {
 public:
  const char* name() const override { return "refresh"; }
  const char* summary() const override {
    return "Rewrites the SST files whose filters would do much better if they "
           "were designed for current queries.";
  }
  const char* usage() const override { return "refresh --db=DIR  [FLAGS]"; }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // Finds the column families that can be refreshed. Returns InvalidArgument if
  // there is none, or if --samples could apply to several.
  Status Choose(std::ostream& err, std::vector<std::string>* families) const;
  Status Open(std::unique_ptr<OpenedDB>* opened) const;
  void Print(const std::string& column_family, const RefreshResult& result,
             Output* output) const;

  Target target_;
  RefreshOptions options_;
  std::string samples_;
  bool json_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
