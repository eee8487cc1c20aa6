//  The flags of a command: --name=value or --name value, and --name or
//  --name=false for those that are true or false. What is no flag is an
//  operand. All after -- are operands.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class Arguments {
 public:
  // Each adds a flag, in the order of the help. `value` stands for what it
  // takes, such as DIR; `*target` holds the default, and outlives this.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::string* target);
  // May be given more than once, or with commas, which do not count within
  // braces.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, std::vector<std::string>* target);
  void Add(const std::string& name, const std::string& value,
           const std::string& help, double* target);
  // A number, which may end in K, M or G for powers of 1024.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, uint64_t* target);
  void Add(const std::string& name, const std::string& help, bool* target);

  // Sets the targets. InvalidArgument for a flag that is unknown, lacks a value
  // or has a bad one.
  Status Parse(const std::vector<std::string>& arguments,
               std::vector<std::string>* operands) const;

  // All flags, a line or more each.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string value;  // empty if it is true or false
    std::string help;
    std::function<Status(const std::string& text)> set;
  };

  const Flag* Find(const std::string& name) const;

  std::vector<Flag> flags_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
