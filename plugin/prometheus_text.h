// SPDX-License-Identifier: Apache-2.0

//  The text format of Prometheus (0.0.4).

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The names and values of labels, in order. A value may be any bytes.
using PrometheusLabels = std::vector<std::pair<const char*, std::string>>;

// All labels of both.
PrometheusLabels JoinLabels(PrometheusLabels labels,
                            const PrometheusLabels& more);

// Writes the samples of a metric, one after the other, as the format requires.
class PrometheusMetric {
 public:
  // The metric is called protean_NAME; its `type` is "counter" or "gauge".
  // Nothing is written for a metric without samples. `*text`, to which samples
  // are added, must outlive this object.
  PrometheusMetric(std::string name, const char* type, const char* help,
                   std::string* text)
      : name_("protean_" + std::move(name)),
        type_(type),
        help_(help),
        text_(text) {}

  // Adds a sample: a number, and the labels that tell it from the others.
  void Add(const PrometheusLabels& labels, const std::string& value);
  void Add(const PrometheusLabels& labels, uint64_t value) {
    Add(labels, std::to_string(value));
  }

 private:
  const std::string name_;
  const char* const type_;
  const char* const help_;
  std::string* const text_;
  bool begun_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
