// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/amq.h"

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

std::vector<const AmqType*>& AmqTypes() {
  static auto* const types =
      new std::vector<const AmqType*>{&BloomAmqType(), &RibbonAmqType()};
  return *types;
}

const AmqType* FindAmqType(AmqKind kind) {
  for (const AmqType* type : AmqTypes()) {
    if (type->kind == kind) return type;
  }
  return nullptr;
}

AmqPlan PlanAmq(AmqKind kind, uint64_t hashes, uint64_t bytes) {
  const AmqType* type = FindAmqType(kind);
  return type == nullptr || hashes == 0 ? AmqPlan() : type->plan(hashes, bytes);
}

Status Amq::DecodeHeader(const char* header) {
  header_.DecodeFrom(header);
  const AmqType* type = FindAmqType(header_.kind);
  const bool sane = type != nullptr
                        ? type->is_sane(header_)
                        : header_.kind == AmqKind::kNone && header_.bytes == 0;
  return sane ? Status::OK()
              : Status::Corruption("prefix filter has an impossible header");
}

bool Amq::Open(Slice* input, bool in_second_unit) {
  const char* data;
  if (!TakeBytes(input, header_.bytes, &data)) return false;
  if (const AmqType* type = FindAmqType(header_.kind)) {
    set_ = type->open(header_, data, memory_);
    takes_neighbours_ = type->takes_neighbours;
    in_second_unit_ = in_second_unit;
    if (type == &BloomAmqType() && !in_second_unit) {
      bloom_ = static_cast<BloomSet*>(set_);
    }
  }
  return true;
}

AmqBuilder::AmqBuilder(const AmqPlan& plan, bool in_second_unit, char* header,
                       char* data)
    : in_second_unit_(in_second_unit) {
  plan.EncodeTo(header);
  if (const AmqType* type = FindAmqType(plan.kind)) {
    builder_ = type->new_builder(plan, data);
    takes_neighbours_ = type->takes_neighbours;
  }
}

void AmqBuilder::AddBatch() {
  if (builder_ != nullptr) builder_->Add(batch_, count_);
  count_ = 0;
}

void AmqBuilder::Finish() {
  AddBatch();
  if (builder_ != nullptr) builder_->Finish();
}

size_t AmqBuilder::MemoryUsage(const AmqPlan& plan) {
  const AmqType* type = FindAmqType(plan.kind);
  return type == nullptr ? 0 : type->builder_memory(plan);
}

}  // namespace ROCKSDB_NAMESPACE::protean
