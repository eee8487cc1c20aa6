// SPDX-License-Identifier: Apache-2.0

#include "tests/key_families.h"

#include <gtest/gtest.h>

namespace ROCKSDB_NAMESPACE::protean {

std::string FinishPayload(RangeFilterBuilder* builder) {
  std::vector<PlannedPart> parts;
  const Status s = builder->Finish(KeysEnd(), &parts);
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(1u, parts.size());
  std::string payload(parts[0].payload_size + kReadPadding, '\0');
  builder->Write(0, payload.data());
  return payload;
}

void SortUnique(std::vector<std::string>* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xff);
  }
  return bytes;
}

std::vector<std::string> StringsOver(const std::string& alphabet,
                                     size_t max_length) {
  std::vector<std::string> all = {""};
  for (size_t begin = 0, length = 0; length < max_length; length++) {
    const size_t end = all.size();
    for (; begin < end; begin++) {
      for (char c : alphabet) all.push_back(all[begin] + c);
    }
  }
  return all;
}

std::string RandomString(Random* rnd, const std::string& alphabet,
                         size_t max_length) {
  std::string result(rnd->Uniform(static_cast<int>(max_length) + 1), '\0');
  for (char& c : result) {
    c = alphabet[rnd->Uniform(static_cast<int>(alphabet.size()))];
  }
  return result;
}

std::vector<std::string> Around(const std::string& key) {
  std::vector<std::string> result = {key, key + '\0', key + '\xff', key + "a"};
  if (!key.empty()) {
    result.push_back(key.substr(0, key.size() - 1));
    result.push_back(key.substr(0, key.size() / 2));
    for (int step : {-1, 1}) {
      std::string neighbour = key;
      neighbour.back() = static_cast<char>(neighbour.back() + step);
      result.push_back(neighbour);
      result.push_back(neighbour + '\xff');
    }
  }
  return result;
}

std::vector<KeyFamily> KeyFamilies(size_t size, uint32_t seed) {
  Random rnd(seed);
  auto random64 = [&rnd] {
    return uint64_t{rnd.Next()} << 40 ^ uint64_t { rnd.Next() } << 20 ^
           rnd.Next();
  };
  std::vector<KeyFamily> families;
  auto add = [&families](const std::string& name,
                         std::vector<std::string> keys) {
    SortUnique(&keys);
    families.push_back({name, std::move(keys)});
  };

  add("random integers",
      MakeKeys(size, [&](size_t) { return BigEndian(random64()); }));
  const uint64_t start = random64() % (uint64_t{1} << 40);
  add("dense integers",
      MakeKeys(size, [&](size_t i) { return BigEndian(start + i); }));
  const char* const domains[] = {"com.example@", "com.example.mail@",
                                 "org.acm@", "org.acm.dl@"};
  add("emails", MakeKeys(size, [&](size_t) {
        return domains[rnd.Uniform(4)] + RandomString(&rnd, "abcdeo.-", 12);
      }));
  add("urls", MakeKeys(size, [&](size_t) {
        return "https://www.example.org/a/rather/long/path/shared/by/all/" +
               std::string(rnd.Uniform(40), 'x') +
               std::to_string(rnd.Uniform(1000)) +
               RandomString(&rnd, "/?=&", 4);
      }));
  std::vector<std::string> keys;
  while (keys.size() < size) {
    std::string chain = RandomString(&rnd, std::string("\0a\xff", 3), 3);
    for (size_t link = 0; link < 20 && keys.size() < size; link++) {
      keys.push_back(chain);
      chain.push_back("\0b\xff"[rnd.Uniform(3)]);
    }
  }
  add("prefix chains", std::move(keys));
  add("all keys of one byte", MakeKeys(256, [](size_t byte) {
        return std::string(1, static_cast<char>(byte));
      }));
  add("runs of 00 and ff", MakeKeys(size, [&](size_t) {
        return std::string(rnd.Uniform(30), '\0') +
               std::string(rnd.Uniform(30), '\xff') +
               std::string(rnd.Uniform(3), '\0');
      }));
  add("one key", {RandomString(&rnd, "abc", 12) + "x"});
  add("the key ff", {"\xff"});
  add("the empty key", {""});
  add("the empty key and another", {"", std::string(1, '\0')});
  add("a long shared prefix",
      {std::string(500, 'p') + "a", std::string(500, 'p') + "b"});
  return families;
}

}  // namespace ROCKSDB_NAMESPACE::protean
