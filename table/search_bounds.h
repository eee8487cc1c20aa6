//  What a thread has said of its searches that their ReadOptions do not say:
//  see plugin/search_bounds.h.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// A thread's bounds. Iterators share them with it, so they never change.
class SearchBounds {
 public:
  // User keys without timestamps, which are copied; nullptr for none.
  SearchBounds(const Slice* lower, const Slice* upper)
      : lower_(lower), upper_(upper) {}

  // nullptr if there is none. The lower bound is inclusive, the upper one not.
  const Slice* lower() const { return lower_.get(); }
  const Slice* upper() const { return upper_.get(); }

  // Whether a search that begins there begins outside. Backwards, the upper
  // bound itself will do.
  bool IsOutside(const Slice& user_key, bool backwards) const {
    return (lower() != nullptr && user_key.compare(*lower()) < 0) ||
           (upper() != nullptr &&
            user_key.compare(*upper()) >= (backwards ? 1 : 0));
  }

  // Whether these are the same keys, or none.
  static bool AreEqual(const SearchBounds* a, const SearchBounds* b) {
    return a == b ||
           (a != nullptr && b != nullptr && Equal(a->lower(), b->lower()) &&
            Equal(a->upper(), b->upper()));
  }

  // This thread's, or nullptr.
  static const std::shared_ptr<const SearchBounds>& OfThread() {
    return Current();
  }
  static void SetOfThread(std::shared_ptr<const SearchBounds> bounds) {
    Use unused = Use::kNever;
    use_.compare_exchange_strong(unused, Use::kYes, std::memory_order_relaxed);
    Current() = std::move(bounds);
  }
  // False if no thread of this process has ever had any, which is cheaper to
  // know, or if they are ignored.
  static bool AreUsed() {
    return use_.load(std::memory_order_relaxed) == Use::kYes;
  }
  // Has them ignored by the searches of this process that begin from now on.
  static void Ignore() { use_.store(Use::kNoMore, std::memory_order_relaxed); }

 private:
  static std::shared_ptr<const SearchBounds>& Current() {
    static thread_local std::shared_ptr<const SearchBounds> current;
    return current;
  }
  enum class Use { kNever, kYes, kNoMore };
  static inline std::atomic<Use> use_{Use::kNever};

  class Bound {
   public:
    explicit Bound(const Slice* key)
        : exists_(key != nullptr),
          bytes_(exists_ ? key->ToString() : std::string()),
          slice_(bytes_) {}
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

    const Slice* get() const { return exists_ ? &slice_ : nullptr; }

   private:
    const bool exists_;
    const std::string bytes_;
    const Slice slice_;
  };

  static bool Equal(const Slice* a, const Slice* b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
  }

  const Bound lower_;
  const Bound upper_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
