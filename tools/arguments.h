// SPDX-License-Identifier: Apache-2.0

//  The command line of a command, and its help.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ROCKSDB_NAMESPACE::protean {

// What the help of a command says.
struct CommandText {
  const char* name;
  const char* summary;  // one line
  // The command line behind the name, such as "--db=DIR | FILE...".
  const char* usage;
  // The column families that it looks at if --column_family is not given.
  const char* by_default;
  // The part of the help behind the flags: what the command prints, its exit
  // codes, and examples.
  const char* help;
};

// The flags of a command, which CLI11 reads: --name=value or --name value; for
// booleans, --name or --name=false. A name may be written with hyphens for
// underscores. Other arguments are operands, and so are all behind --.
class Arguments {
 public:
  // `text`, which must outlive this object, is what the help says besides the
  // flags.
  explicit Arguments(const CommandText& text);
  ~Arguments();

  // Each Add adds a flag, in the order of the help. `value` is the placeholder
  // of the value in the help, such as DIR. `*target` holds the default, and
  // must outlive this object.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::string* target);
  // A list: the flag may be repeated, and its values are separated by commas,
  // except for commas within braces.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::vector<std::string>* target);
  // A number from `min` to `max`.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, double* target,
           double min = -std::numeric_limits<double>::infinity(),
           double max = std::numeric_limits<double>::infinity());
  // A whole number from `min` to `max`, written as in RocksDB's options: 20K,
  // 2G or 1T.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, uint64_t* target, uint64_t min = 0,
           uint64_t max = std::numeric_limits<uint64_t>::max());
  void Add(const std::string& name, const std::string& help, bool* target);

  // Sets the targets. InvalidArgument says which flag is unknown, with the
  // nearest one, lacks a value or has a bad one, with what is allowed.
  Status Parse(std::vector<std::string> arguments,
               std::vector<std::string>* operands);

  // What --help prints.
  std::string Help() const;

 private:
  using Set = std::function<void(const std::string& text)>;
  // Adds a flag with a value; `set` throws CLI::ValidationError.
  void AddValue(const std::string& name, const std::string& value,
                const std::string& help, Set set);

  const std::unique_ptr<CLI::App> app_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
