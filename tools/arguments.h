// SPDX-License-Identifier: Apache-2.0

//  The command line of a command, and its help.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
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

// A flag.
struct Flag {
  const char* name;
  const char* value;  // its placeholder in the help, such as DIR; "" for a bool
  // Holds the default, and must outlive the Arguments. A list may be repeated,
  // and its values are separated by commas, except for commas within braces and
  // behind levels:, which takes the rest. A whole number is written as in
  // RocksDB's options: 20K, 2G or 1T.
  std::variant<bool*, std::string*, std::vector<std::string>*, double*,
               uint64_t*>
      target;
  std::string help;
  // The limits of a number, which a long double holds exactly.
  long double min = -std::numeric_limits<long double>::infinity();
  long double max = std::numeric_limits<long double>::infinity();
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

  // Adds flags, in the order of the help.
  void Add(const std::vector<Flag>& flags);

  // Sets the targets. InvalidArgument says which flag is unknown, with the
  // nearest one, lacks a value or has a bad one, with what is allowed.
  Status Parse(std::vector<std::string> arguments,
               std::vector<std::string>* operands);

  // What --help prints.
  std::string Help() const;

 private:
  const std::unique_ptr<CLI::App> app_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
