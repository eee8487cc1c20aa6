// SPDX-License-Identifier: Apache-2.0

//  What RocksDB asks the builders and readers of filters.

#include "rocksdb/slice_transform.h"
#include "table/block_based/filter_policy_internal.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A policy that records what its builders and readers are given.
class RecordingPolicy : public FilterPolicy {
 public:
  explicit RecordingPolicy(Keys* calls) : calls_(calls) {}

  const char* Name() const override { return "RecordingPolicy"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    return new Builder(calls_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    return new Reader(calls_);
  }

 private:
  class Builder : public FilterBitsBuilder {
   public:
    explicit Builder(Keys* calls) : calls_(calls) {}
    void AddKey(const Slice& key) override {
      calls_->push_back("add " + key.ToString());
    }
    void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
      calls_->push_back("add " + key.ToString() + " and " + alt.ToString());
    }
    size_t EstimateEntriesAdded() override { return 1; }
    using FilterBitsBuilder::Finish;
    Slice Finish(std::unique_ptr<const char[]>* buf) override {
      buf->reset(new char[1]());
      return Slice(buf->get(), 1);
    }
    size_t ApproximateNumEntries(size_t) override { return 1; }
    // RocksDB has these two since 10.9.
    virtual size_t CalculateSpace(size_t) { return 1; }
    virtual double EstimatedFpRate(size_t, size_t) { return 1; }

   private:
    Keys* const calls_;
  };

  class Reader : public FilterBitsReader {
   public:
    explicit Reader(Keys* calls) : calls_(calls) {}
    using FilterBitsReader::MayMatch;
    bool MayMatch(const Slice& entry) override {
      calls_->push_back("ask " + entry.ToString());
      return true;
    }
    void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
      std::string call = "ask";
      for (int i = 0; i < num_keys; i++) {
        call += " " + keys[i]->ToString();
        may_match[i] = true;
      }
      calls_->push_back(call);
    }

   private:
    Keys* const calls_;
  };

  Keys* const calls_;
};

}  // namespace

// Builders get the keys in order, and with a prefix extractor each key together
// with its prefix. Get asks readers for whole keys. Get without whole-key
// filtering and prefix seeks ask them for prefixes, and do not say that these
// are prefixes. FilterBlockHeader::kAskedForPrefixes rests on it.
TEST_F(ContractTest, KeysAndPrefixes) {
  for (const bool prefixes : {false, true}) {
    for (const bool whole_keys : {true, false}) {
      if (!prefixes && !whole_keys) continue;
      SCOPED_TRACE(prefixes ? "with prefixes" : "without prefixes");
      SCOPED_TRACE(whole_keys ? "with whole keys" : "without whole keys");
      Keys calls;
      BlockBasedTableOptions table;
      table.filter_policy = std::make_shared<RecordingPolicy>(&calls);
      table.whole_key_filtering = whole_keys;
      options_.table_factory = NewProteanTableFactory(table);
      if (prefixes) {
        options_.prefix_extractor.reset(NewFixedPrefixTransform(1));
      }
      Open();
      AddFile(db_.get(), 0, {"a1", "a2", "b1"});
      EXPECT_EQ(!prefixes ? (Keys{"add a1", "add a2", "add b1"})
                : whole_keys
                    ? (Keys{"add a1 and a", "add a2 and a", "add b1 and b"})
                    : (Keys{"add a", "add a", "add b"}),
                calls);

      const std::string asked = whole_keys ? "ask a2" : "ask a";
      calls.clear();
      ASSERT_TRUE(Has("a2"));
      EXPECT_EQ(Keys{asked}, calls);

      calls.clear();
      const Slice keys[] = {"a2", "b1"};
      PinnableSlice values[2];
      Status statuses[2];
      db_->MultiGet(ReadOptions(), db_->DefaultColumnFamily(), 2, keys, values,
                    statuses);
      EXPECT_EQ(Keys{whole_keys ? "ask a2 b1" : "ask a b"}, calls);

      calls.clear();
      std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      it->Seek("a2");
      EXPECT_EQ(prefixes ? Keys{"ask a"} : Keys{}, calls);
      ReadOptions total;
      total.total_order_seek = true;
      calls.clear();
      it.reset(db_->NewIterator(total));
      it->Seek("a2");
      EXPECT_EQ(Keys{}, calls);

      it.reset();
      Destroy();
      options_.prefix_extractor.reset();
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
