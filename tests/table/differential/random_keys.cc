// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/key_families.h"
#include "tests/table/differential/random_options.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Keys that share more bytes than a filter block stores of its last key, and
// then differ in any of the bytes after.
std::vector<std::string> LongKeys(Dice* dice, size_t size) {
  std::vector<std::string> keys;
  const size_t shared = dice->Of({60, 64, 65, 100, 300});
  for (size_t i = 0; i < size; i++) {
    std::string key(shared, 'p');
    if (dice->OneIn(8)) key[dice->Below(shared)] = 'q';
    key += BigEndian(dice->Below(size * 2))
               .substr(8 - static_cast<size_t>(dice->Of({2, 4, 8})));
    if (dice->OneIn(10)) key += std::string(dice->Below(200), '\xff');
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> FewBytes(Dice* dice, size_t size) {
  std::vector<std::string> keys = {""};
  for (size_t i = 0; i < size; i++) {
    std::string key(dice->Below(5), '\0');
    for (char& c : key) c = dice->Of({'\0', '\1', 'a', '\x7f', '\xfe', '\xff'});
    keys.push_back(std::move(key));
  }
  return keys;
}

// A few prefixes with many keys each, and many with few.
std::vector<std::string> Prefixed(Dice* dice, size_t size) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < size; i++) {
    keys.push_back(BigEndian(dice->Below(dice->OneIn(2) ? 3 : 200)).substr(4) +
                   BigEndian(dice->Below(64)).substr(dice->Below(8)));
  }
  return keys;
}

}  // namespace

KeyPool::KeyPool(Dice* dice, const Comparator* order, size_t size,
                 size_t shortest)
    : order_(order), shortest_(shortest) {
  switch (dice->Below(5)) {
    case 0:
      name_ = "long keys";
      keys_ = LongKeys(dice, size);
      break;
    case 1:
      name_ = "few bytes";
      keys_ = FewBytes(dice, size);
      break;
    case 2:
      name_ = "prefixes";
      keys_ = Prefixed(dice, size);
      break;
    default: {
      KeyFamily family =
          dice->In(KeyFamilies(size, static_cast<uint32_t>(dice->Next())));
      name_ = std::move(family.name);
      keys_ = std::move(family.keys);
    }
  }
  for (std::string& key : keys_) {
    if (key.size() < shortest) key.resize(shortest, 'k');
  }
  SortUnique(&keys_);
  std::sort(keys_.begin(), keys_.end(),
            [this](const std::string& a, const std::string& b) {
              return Less(a, b);
            });
}

std::string KeyPool::AnyString(Dice* dice) const {
  std::string any = Pick(dice).substr(0, dice->Below(12));
  const size_t more = dice->Below(4);
  for (size_t i = 0; i < more; i++) any += static_cast<char>(dice->Next());
  return any;
}

std::string KeyPool::PickAround(Dice* dice,
                                const SliceTransform* domain) const {
  for (int attempt = 0; attempt < 5; attempt++) {
    std::string key = Pick(dice);
    if (dice->OneIn(10)) {
      key = AnyString(dice);
    } else if (!dice->OneIn(3)) {
      key = dice->In(Around(key));
    }
    if (domain == nullptr ||
        (domain->InDomain(key) && key.size() >= shortest_)) {
      return key;
    }
  }
  return Pick(dice);
}

std::string KeyPool::PickAfter(Dice* dice, const std::string& from) const {
  const auto behind =
      std::upper_bound(keys_.begin(), keys_.end(), from,
                       [this](const std::string& a, const std::string& b) {
                         return Less(a, b);
                       });
  const size_t left = keys_.end() - behind;
  if (left == 0) return from + '\xff';
  const size_t near = dice->OneIn(4) ? left : std::min<size_t>(left, 6);
  const std::string& key = behind[dice->Below(near)];
  return dice->OneIn(3) ? dice->In(Around(key)) : key;
}

}  // namespace ROCKSDB_NAMESPACE::protean
