// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/fst_section.h"

namespace ROCKSDB_NAMESPACE::protean {

bool FstSection::Open(const FstSectionHeader& header, unsigned code_bits,
                      Slice* input) {
  if (header.nodes == 0 || header.edges == 0 ||
      header.remainder_bits > code_bits || header.children > header.edges ||
      header.child_encoding > FstSectionHeader::kLeavesListed ||
      header.exception_bits > 32 || header.terminators > header.nodes ||
      header.runs > header.nodes || header.runs > header.run_codes ||
      (header.runs == 0 && header.run_codes > 0) ||
      header.dense_group_shift > (header.remainder_bits == 0
                                      ? FstSectionLayout::kMaxDenseGroupShift
                                      : 0)) {
    return false;
  }
  const FstSectionLayout layout(header, code_bits);
  if ((header.remainder_bits > 0 &&
       layout.label_bits > std::numeric_limits<uint32_t>::max()) ||
      input->size() < layout.end) {
    return false;
  }
  code_bits_ = static_cast<uint8_t>(code_bits);
  remainder_bits_ = header.remainder_bits;
  quotient_bits_ = static_cast<uint8_t>(layout.quotient_bits);
  group_shift_ = static_cast<uint8_t>(layout.group_shift);
  label_bits_ = layout.label_bits;
  if (remainder_bits_ > 0) {
    remainders_per_load_ = static_cast<uint8_t>(kLoadBits / remainder_bits_);
  }
  child_encoding_ = header.child_encoding;
  all_lead_ = header.children == header.edges;
  none_leads_ = header.children == 0;
  has_terminators_ = header.terminators > 0;
  has_runs_ = header.runs > 0;

  index_ = input->data();
  input->remove_prefix(layout.end);
  labels_ = index_ + layout.labels;
  children_ = index_ + layout.children;
  remainders_ = PackedArray(index_ + layout.remainders, remainder_bits_);
  exceptions_ = PackedArray(children_, header.exception_bits);
  run_codes_ = index_ + layout.run_codes;
  if ((has_terminators_ &&
       !terminators_.Open(index_ + layout.terminators, header.nodes,
                          header.terminators)) ||
      (has_runs_ && (!run_marks_.Open(index_ + layout.run_marks, header.nodes,
                                      header.runs) ||
                     !run_starts_.Open(index_ + layout.run_starts,
                                       header.run_codes, header.runs) ||
                     !run_starts_.Get(0)))) {
    return false;
  }

  // The labels must have as many quotients as the nodes have, or as many edges
  // as the header says. Then no select and no search for a bit can run past the
  // end.
  const uint64_t ones = CountOnes(labels_, 0, label_bits_);
  const uint64_t expected = remainder_bits_ == 0
                                ? header.edges
                                : uint64_t{header.nodes} << quotient_bits_;
  if (ones != expected || !TailIsZero(labels_, label_bits_) ||
      (remainder_bits_ > 0 && !GetBit(labels_, label_bits_ - 1))) {
    return false;
  }
  const Counts total = Entry(layout.groups);
  return total.edges == header.edges && total.children == header.children &&
         ValidateIndex(header.nodes, layout.groups);
}

// Every entry must count what lies before its group, and none may count more
// than the last one, which is right. The counts of children must agree with the
// bits, or the exceptions must lie within the group, in ascending order.
bool FstSection::ValidateIndex(uint64_t nodes, uint64_t groups) const {
  const Counts first = Entry(0);
  const Counts total = Entry(groups);
  if (first.edges != 0 || first.children != 0) return false;
  const bool leaves_listed = child_encoding_ == FstSectionHeader::kLeavesListed;
  uint64_t bit = 0;
  for (uint64_t group = 0; group < groups; group++) {
    const Counts before = Entry(group);
    const Counts behind = Entry(group + 1);
    const uint64_t end = std::min(nodes, (group + 1) << group_shift_);
    uint64_t edges;
    if (remainder_bits_ == 0) {
      edges =
          before.edges + CountOnes(labels_, DenseBit(group << group_shift_, 0),
                                   DenseBit(end, 0));
    } else {
      const uint64_t quotients = (end - (group << group_shift_))
                                 << quotient_bits_;
      bit = SelectFrom(labels_, bit, quotients - 1) + 1;
      edges = quotient_bits_ == 0 ? bit : bit - (end << quotient_bits_);
    }
    const uint32_t in_group = behind.edges - before.edges;
    const uint32_t children = behind.children - before.children;
    if (edges != behind.edges || behind.edges > total.edges ||
        behind.children > total.children ||
        behind.edges - behind.children > total.edges - total.children ||
        behind.edges < before.edges || behind.children < before.children ||
        children > in_group) {
      return false;
    }
    if (child_encoding_ == FstSectionHeader::kHasChildBits) {
      if (CountOnes(children_, before.edges, behind.edges) != children) {
        return false;
      }
      continue;
    }
    uint64_t above = 0;
    for (uint64_t i = before.Exceptions(leaves_listed);
         i < behind.Exceptions(leaves_listed); i++) {
      const uint64_t place = exceptions_.Get(i);
      if (place < above || place >= in_group) return false;
      above = place + 1;
    }
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
