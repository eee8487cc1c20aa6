// SPDX-License-Identifier: Apache-2.0

#include "plugin/prometheus_text.h"

#include "plugin/utf8_text.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The value of a label, escaped.
std::string LabelText(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8Text(text)) {
    if (c == '"' || c == '\\') escaped.push_back('\\');
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

}  // namespace

PrometheusLabels JoinLabels(PrometheusLabels labels,
                            const PrometheusLabels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

void PrometheusMetric::Add(const PrometheusLabels& labels,
                           const std::string& value) {
  if (!begun_) {
    *text_ += "# HELP " + name_ + " " + help_ + "\n";
    *text_ += "# TYPE " + name_ + " " + type_ + "\n";
    begun_ = true;
  }
  *text_ += name_ + "{";
  const char* separator = "";
  for (const auto& [label, label_value] : labels) {
    *text_ += separator;
    *text_ += std::string(label) + "=\"" + LabelText(label_value) + "\"";
    separator = ",";
  }
  *text_ += "} " + value + "\n";
}

}  // namespace ROCKSDB_NAMESPACE::protean
