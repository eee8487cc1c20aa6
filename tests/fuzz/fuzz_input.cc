// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz_input.h"

#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxLength = FuzzInput::kMaxLength;

std::string AnyString(Dice* random) {
  std::string any(random->Below(12), random->Byte());
  for (char& c : any) {
    c = random->OneIn(2) ? random->Byte()
                         : random->Of({'\0', '\xff', 'a', 'b', c});
  }
  return any;
}

// A string that differs at the end, or in one byte.
std::string NeighborOf(std::string string, Dice* random) {
  const char ends[] = {'\0', '\xff', random->Byte()};
  const size_t way = random->Below(6);
  if (way < std::size(ends)) {
    string.push_back(ends[way]);
  } else if (way == std::size(ends)) {
    string.resize(random->Below(string.size() + 1));
  } else if (!string.empty()) {
    const size_t last = string.size() - 1;
    string[random->OneIn(2) ? last : random->Below(last + 1)] +=
        random->OneIn(2) ? 1 : -1;
  }
  return string;
}

}  // namespace

Strings ParseStrings(FuzzInput input) {
  Strings strings;
  while (!input.empty()) strings.push_back(input.String());
  return strings;
}

std::string StoreStrings(const Strings& strings, size_t max_size) {
  std::string stored;
  for (const std::string& string : strings) {
    const bool repeats =
        string.size() > kMaxLength &&
        string.size() % FuzzInput::kRepeatUnit == 0 &&
        string.find_first_not_of(string[0]) == std::string::npos;
    const size_t length =
        repeats ? kMaxLength + string.size() / FuzzInput::kRepeatUnit
                : std::min(string.size(), kMaxLength);
    const std::string text = string.substr(0, repeats ? 1 : length);
    if (stored.size() + 1 + text.size() > max_size) continue;
    stored.push_back(static_cast<char>(length));
    stored += text;
  }
  return stored;
}

std::string MutateStrings(const Slice& stored, size_t max_size, Dice* random,
                          GenericMutator generic) {
  // The engine takes strings of other inputs, too, and makes long ones.
  if (random->OneIn(10)) return MutateGenerically(stored, max_size, generic);
  Strings strings = ParseStrings(FuzzInput(stored));
  const auto pick = [&]() -> std::string& {
    return strings[random->Below(strings.size())];
  };
  const auto place = [&](size_t index) {
    return strings.begin() + static_cast<ptrdiff_t>(index);
  };
  const auto insert = [&](const std::string& string) {
    strings.insert(place(random->Below(strings.size() + 1)), string);
  };
  switch (strings.empty() ? 0 : random->Below(9)) {
    case 0:
      insert(AnyString(random));
      break;
    case 1: {  // the beginning of one string with the end of another
      const std::string& a = pick();
      const std::string& b = pick();
      insert(a.substr(0, random->Below(a.size() + 1)) +
             b.substr(random->Below(b.size() + 1)));
      break;
    }
    case 2: {  // many strings that differ in one byte
      const std::string begin = pick();
      char byte = random->Byte();
      const auto step = static_cast<char>(1 + random->Below(9));
      for (uint64_t left = 1 + random->Below(20); left > 0; left--) {
        insert(begin + byte);
        byte = static_cast<char>(byte + step);
      }
      break;
    }
    case 3: {
      const size_t begin = random->Below(strings.size());
      const size_t left = strings.size() - begin;
      const size_t most = random->OneIn(4) ? left : std::min<size_t>(left, 2);
      strings.erase(place(begin), place(begin + 1 + random->Below(most)));
      break;
    }
    case 4:  // the first strings of a list are queries
      std::swap(pick(), pick());
      break;
    case 5: {
      std::string& string = pick();
      string.resize(std::min(string.size(), kMaxLength - 8));
      string = MutateGenerically(string, string.size() + 8, generic);
      break;
    }
    default:
      insert(NeighborOf(pick(), random));
  }
  return StoreStrings(strings, max_size);
}

}  // namespace ROCKSDB_NAMESPACE::protean
