// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/view.h"

#include "rocksdb/comparator.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

std::unique_ptr<Iterator> View::NewIterator(Twin twin,
                                            const ReadOptions& options) const {
  Iterator* it = nullptr;
  if (file_iterator != nullptr) {
    it = file_iterator(twin, options);
  } else if (transactions[twin] != nullptr) {
    it = transactions[twin]->GetIterator(options, handles[twin]);
  } else {
    it = dbs[twin]->NewIterator(options, handles[twin]);
  }
  return std::unique_ptr<Iterator>(it);
}

void ReadPoint::Draw(RandomRun* run, const View& view) {
  Dice& dice = run->dice;
  if (view.snapshots && run->twins.num_snapshots() > 0 && dice.OneIn(2)) {
    snapshots_ = run->twins.snapshot(dice.Below(run->twins.num_snapshots()));
  }
  if (view.family->timestamps) {
    timestamps_ = true;
    timestamp_ =
        dice.OneIn(2)
            ? MaxU64Ts().ToString()
            : EncodeU64Ts(1 + dice.Below(run->clock), &timestamp_).ToString();
    timestamp_slice_ = timestamp_;
  }
}

void ReadPoint::DrawStart(RandomRun* run) {
  std::string buffer;
  start_ = EncodeU64Ts(run->dice.Below(run->clock + 1), &buffer).ToString();
  start_slice_ = start_;
}

std::string ReadPoint::ToString() const {
  std::string result;
  if (snapshots_[kPlain] != nullptr) {
    result +=
        " snapshot " + std::to_string(snapshots_[kPlain]->GetSequenceNumber());
  }
  if (timestamps_) result += " ts " + timestamp_slice_.ToString(true);
  if (has_start()) result += " from ts " + start_slice_.ToString(true);
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
