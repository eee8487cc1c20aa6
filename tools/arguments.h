// SPDX-License-Identifier: Apache-2.0

//  The flags of a command: --name=value or --name value; for booleans, --name
//  or --name=false. Other arguments are operands, and so are all arguments
//  after --.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class Arguments {
 public:
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
  // A whole number from `min` to `max`, which may end in K, M or G for powers
  // of 1024.
  void Add(const std::string& name, const std::string& value,
           const std::string& help, uint64_t* target, uint64_t min = 0,
           uint64_t max = std::numeric_limits<uint64_t>::max());
  void Add(const std::string& name, const std::string& help, bool* target);

  // Sets the targets. Returns InvalidArgument for a flag that is unknown, lacks
  // a value or has a bad one.
  Status Parse(const std::vector<std::string>& arguments,
               std::vector<std::string>* operands) const;

  // The help of all flags, one or more lines each.
  std::string Help() const;

  struct Description {
    std::string name;
    std::string value;  // empty for a boolean
    std::string help;
  };
  // All flags, for the manual and for completion.
  std::vector<Description> Describe() const;

 private:
  struct Flag : Description {
    std::function<Status(const std::string& text)> set;
  };

  const Flag* Find(const std::string& name) const;

  std::vector<Flag> flags_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
