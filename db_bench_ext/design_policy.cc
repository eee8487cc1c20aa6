// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/design_policy.h"

#include <algorithm>
#include <cstdlib>

#include "filter_policy/proteus/key_store.h"
#include "rocksdb/db.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool ParseBitsPerKey(const std::string& text, double* bits) {
  char* end = nullptr;
  *bits = strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && *bits >= 1 && *bits <= 100;
}

// Stores the number after `name` in `part`. False if there is none.
bool ParsePart(const std::string& part, const std::string& name,
               uint32_t* number) {
  constexpr size_t kDigits = 6;
  const std::string digits =
      part.substr(std::min(part.size(), name.size()), std::string::npos);
  if (part.compare(0, name.size(), name) != 0 || digits.empty() ||
      digits.size() > kDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  *number = static_cast<uint32_t>(std::stoul(digits));
  return true;
}

std::string SetNames(const std::string& before, const std::string& between) {
  std::string names;
  for (const AmqType* type : AmqTypes()) {
    names += (names.empty() ? before : between + before) + type->name;
  }
  return names;
}

bool ParseDesign(const std::vector<std::string>& parts, ProteusDesign* design) {
  Layer trie;
  trie.kind = Layer::Kind::kTrie;
  Layer first;
  Layer last;
  uint32_t share = 50;
  const auto parse_set = [&](const std::string& part) {
    for (const AmqType* type : AmqTypes()) {
      if (!ParsePart(part, type->name, &last.bits)) continue;
      design->amq = type->kind;
      return true;
    }
    return false;
  };
  for (size_t i = 2; i < parts.size(); i++) {
    const std::string& part = parts[i];
    if (!parse_set(part) && !ParsePart(part, "trie", &trie.bits) &&
        !ParsePart(part, "lead", &trie.lead) &&
        !ParsePart(part, "first", &first.bits) &&
        !ParsePart(part, "share", &share) &&
        !ParsePart(part, "stride", &last.stride)) {
      return false;
    }
  }
  first.share = share / 100.0;
  if (last.stride > 0) last.kind = Layer::Kind::kSeries;
  if (trie.bits == 0 && trie.lead > 0) return false;
  for (const Layer& layer : {trie, first, last}) {
    if (layer.bits > 0) design->Add(layer);
  }
  return share < 100 && !design->empty() && design->IsValid() &&
         (first.bits == 0 || (trie.bits == 0 && last.bits > 0));
}

}  // namespace

std::string DesignForm() {
  return "design:BITS_PER_KEY:PART:... with parts such as trie24, lead3, "
         "first26, share50, " +
         SetNames("", "58, ") + "58, stride16";
}

std::shared_ptr<const FilterPolicy> DesignPolicy::Create(
    const std::string& spec) {
  const std::vector<std::string> parts = StringSplit(spec, ':');
  ProteusSettings settings;
  ProteusDesign design;
  if (parts.size() < 3 || parts[0] != "design" ||
      !ParseBitsPerKey(parts[1], &settings.bits_per_key) ||
      !ParseDesign(parts, &design)) {
    return nullptr;
  }
  settings.forced = design;
  return std::shared_ptr<const FilterPolicy>(
      new DesignPolicy(std::move(settings)));
}

FileBuilders DesignPolicy::NewFileBuilders(const FilterBuildingContext& context,
                                           Env* env, uint64_t /*price*/) const {
  const std::shared_ptr<QueryQueue> queue =
      samples_->Queue(ColumnFamilyOf(context), env, /*logger=*/nullptr);
  return {
      kProteusKind, [this, queue](const FilterTask& task) {
        return std::make_unique<ProteusBuilder>(
            settings_,
            [queue](const Slice& smallest, const Slice& largest, size_t most) {
              return queue->SnapshotFor(smallest, largest, most);
            },
            task);
      }};
}

std::string DesignSpaceForm() {
  return "1pbf, 2pbf or proteus, then :BITS_PER_KEY, then perhaps " +
         SetNames(":", " or ");
}

Status DesignsOf(const std::string& space, const std::vector<std::string>& keys,
                 std::vector<std::string>* specs) {
  const std::vector<std::string> parts = StringSplit(space, ':');
  double bits_per_key = 0;
  const bool one = !parts.empty() && parts[0] == "1pbf";
  const bool two = !parts.empty() && parts[0] == "2pbf";
  const bool known = one || two || (!parts.empty() && parts[0] == "proteus");
  if (!known || parts.size() < 2 || parts.size() > 3 ||
      !ParseBitsPerKey(parts[1], &bits_per_key) ||
      (parts.size() == 3 &&
       std::none_of(AmqTypes().begin(), AmqTypes().end(),
                    [&](const AmqType* t) { return t->name == parts[2]; }))) {
    return Status::InvalidArgument(
        "design space " + space + " is unknown; allowed: " + DesignSpaceForm());
  }
  const std::string amq = parts.size() == 3 ? parts[2] : "bloom";
  const std::string head = "design:" + parts[1];
  KeyStore store;
  for (const std::string& key : keys) store.Append(key);
  const KeyStatistics statistics(store);
  const auto bytes = static_cast<uint64_t>(
      bits_per_key / 8 * static_cast<double>(statistics.num_keys()));
  const uint32_t max_bits = statistics.max_bits();
  for (uint32_t first = 0; first <= max_bits; first++) {
    std::string layer;
    if (first > 0) layer = (two ? ":first" : ":trie") + std::to_string(first);
    if (first > 0 && !two) {
      if (one) break;
      const KeyStatistics::TrieSize trie = statistics.SizeOfTrie(first, bytes);
      if (trie.bytes > bytes) continue;
      if (trie.lead > 0) layer += ":lead" + std::to_string(trie.lead);
      specs->push_back(head + layer);
    }
    for (uint32_t bits = first + 1; bits <= max_bits; bits++) {
      specs->push_back(head + layer + ":" + amq + std::to_string(bits));
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
