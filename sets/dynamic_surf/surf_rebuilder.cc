// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/surf_rebuilder.h"

namespace ROCKSDB_NAMESPACE::protean {

uint64_t SurfRebuilder::ValueOfLast(const Slice& key, size_t depth) const {
  if (last_is_whole_) {
    return suffix().WithoutPrefix(key, suffix().Real(key, depth), salt());
  }
  if (depth == key.size()) return last_value_;
  std::string known = key.ToString();
  suffix().AppendReal(suffix().RealOfValue(last_value_), &known);
  return suffix().Real(known, depth) << suffix().hash_bits |
         (last_value_ & LowBits(suffix().hash_bits));
}

Status SurfRebuilder::FinishPayload(std::string* payload, uint64_t* size) {
  std::vector<PlannedPart> parts;
  const Status s = Finish(KeysEnd(), &parts);
  if (!s.ok()) return s;
  *size = parts.front().payload_size;
  payload->assign(*size + kReadPadding, '\0');
  Write(0, payload->data());
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
