// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/key_code_builder.h"

#include <numeric>

#include "filter_policy/fst/alphabetic_code.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A code of its own is worth its size in the block, 16 bits for each column, if
// it saves that much on what occurs after the context; half a bit a byte is
// usual.
constexpr uint64_t kOccurrencesPerColumn = 32;

// Bytes that do not occur after a context have codes, too, as if each had at
// least this part of all occurrences.
constexpr uint64_t kMinShare = 4096;

}  // namespace

std::string MakeKeyCode(const bool (&occurs)[256], const ByteCounts& counts) {
  const unsigned columns = counts.columns();
  const unsigned contexts = columns - 1;
  std::vector<std::vector<uint64_t>> weights(1, std::vector<uint64_t>(columns));
  std::string numbers;
  bool is_shared = false;
  for (unsigned context = 0; context < contexts; context++) {
    const uint32_t* const after = counts.After(context);
    const uint64_t total = std::accumulate(after, after + columns, uint64_t{0});
    if (total >= kOccurrencesPerColumn * columns) {
      numbers.push_back(static_cast<char>(weights.size()));
      weights.emplace_back(after, after + columns);
    } else {
      numbers.push_back(0);
      is_shared = true;
      for (unsigned i = 0; i < columns; i++) weights[0][i] += after[i];
    }
  }
  if (!is_shared) {
    weights.erase(weights.begin());
    for (char& number : numbers) number--;
  }

  const unsigned bytes = contexts - 1;
  const auto codes = static_cast<unsigned>(weights.size());
  std::string code(KeyCode::kHeaderSize + KeyCode::kColumnsSize, '\0');
  code[4] = static_cast<char>(bytes);
  code[5] = static_cast<char>(codes);
  unsigned column = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (occurs[byte]) code.push_back(static_cast<char>(byte));
    column += occurs[byte] ? 1 : 0;
    code[KeyCode::kHeaderSize + byte] = static_cast<char>(
        occurs[byte] ? column : KeyCode::kAbsent + column + 1);
  }
  code.append(numbers);
  code.resize(KeyCode::CodesOffset(bytes));
  AlphabeticCode optimal(columns);
  std::vector<uint16_t> entries;
  for (std::vector<uint64_t>& weight : weights) {
    const uint64_t least =
        std::accumulate(weight.begin(), weight.end(), uint64_t{0}) / kMinShare +
        1;
    for (uint64_t& w : weight) w += least;
    optimal.Compute(weight, &entries);
    for (uint16_t entry : entries) PutFixed16(&code, entry);
  }
  code.resize(KeyCode::Size(bytes, codes));
  return code;
}

void SetLongestPath(uint32_t digits, std::string* code) {
  EncodeFixed32(&(*code)[0], digits);
}

}  // namespace ROCKSDB_NAMESPACE::protean
