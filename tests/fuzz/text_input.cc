// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/text_input.h"

#include <cstring>
#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Tokens = std::vector<std::string>;

Tokens Split(const TextLanguage& language, const Slice& text) {
  Tokens tokens;
  bool in_word = false;
  for (size_t i = 0; i < text.size(); i++) {
    const bool separator =
        text[i] != '\0' && strchr(language.separators, text[i]) != nullptr;
    if (separator || !in_word) tokens.emplace_back();
    tokens.back().push_back(text[i]);
    in_word = !separator;
  }
  return tokens;
}

size_t Store(const Tokens& tokens, uint8_t* out, size_t max_size) {
  size_t size = 0;
  for (const std::string& token : tokens) {
    const size_t count = std::min(token.size(), max_size - size);
    memcpy(out + size, token.data(), count);
    size += count;
  }
  return size;
}

class TextMutator {
 public:
  TextMutator(const TextLanguage& language, Tokens* tokens, FuzzRandom* random,
              GenericMutator generic)
      : language_(language),
        tokens_(*tokens),
        random_(*random),
        generic_(generic) {}

  void Mutate() {
    using Mutation = void (TextMutator::*)();
    static constexpr Mutation kMutations[] = {
        &TextMutator::Insert,        &TextMutator::Replace,
        &TextMutator::Replace,       &TextMutator::Erase,
        &TextMutator::Repeat,        &TextMutator::Swap,
        &TextMutator::ChangeNumber,  &TextMutator::ChangeNumber,
        &TextMutator::ChangeLetters, &TextMutator::Insert,
    };
    (this->*kMutations[tokens_.empty()
                           ? 0
                           : random_.Below(std::size(kMutations))])();
  }

 private:
  std::string Word() {
    if (random_.OneIn(4)) {
      return std::string(
          1, language_.separators[random_.Below(strlen(language_.separators))]);
    }
    return language_.words[random_.Below(language_.words.size())];
  }
  std::string& Pick() { return tokens_[random_.Below(tokens_.size())]; }
  auto Place(size_t index) {
    return tokens_.begin() + static_cast<ptrdiff_t>(index);
  }

  void Insert() {
    tokens_.insert(Place(random_.Below(tokens_.size() + 1)), Word());
  }
  void Replace() { Pick() = Word(); }
  void Erase() {
    const size_t begin = random_.Below(tokens_.size());
    const size_t count =
        1 + random_.Below(std::min<size_t>(4, tokens_.size() - begin));
    tokens_.erase(Place(begin), Place(begin + count));
  }
  // Repeats a range of tokens elsewhere.
  void Repeat() {
    const size_t begin = random_.Below(tokens_.size());
    const size_t count =
        1 + random_.Below(std::min<size_t>(8, tokens_.size() - begin));
    const Tokens copy(Place(begin), Place(begin + count));
    tokens_.insert(Place(random_.Below(tokens_.size() + 1)), copy.begin(),
                   copy.end());
  }
  void Swap() { std::swap(Pick(), Pick()); }
  void ChangeNumber() {
    std::string& token = Pick();
    if (token.find_first_of("0123456789") == std::string::npos)
      return Replace();
    const char* const numbers[] = {
        "0",  "1",  "2",          "32",         "33",
        "64", "65", "4294967295", "4294967296", "18446744073709551616",
        "-1", "+1", "1e3",        "1.5",        "2.0000001",
        "00", ".",  "63.9999999", "0x10",       "1.9999999"};
    token = numbers[random_.Below(std::size(numbers))];
  }
  void ChangeLetters() {
    std::string& token = Pick();
    constexpr size_t kMaxLetters = 40;
    const size_t size = std::min(token.size(), kMaxLetters);
    token.resize(kMaxLetters + 8);
    token.resize(
        generic_(reinterpret_cast<uint8_t*>(token.data()), size, size + 8));
  }

  const TextLanguage& language_;
  Tokens& tokens_;
  FuzzRandom& random_;
  const GenericMutator generic_;
};

}  // namespace

size_t MutateText(const TextLanguage& language, uint8_t* data, size_t size,
                  size_t max_size, FuzzRandom* random, GenericMutator generic) {
  Tokens tokens =
      Split(language, Slice(reinterpret_cast<const char*>(data), size));
  TextMutator mutator(language, &tokens, random, generic);
  for (uint64_t left = 1 + random->Below(3); left > 0; left--) mutator.Mutate();
  return Store(tokens, data, max_size);
}

size_t CrossTexts(const TextLanguage& language, const Slice& a, const Slice& b,
                  uint8_t* out, size_t max_size, FuzzRandom* random) {
  Tokens tokens = Split(language, a);
  const Tokens others = Split(language, b);
  if (others.empty()) return 0;
  const size_t begin = random->Below(others.size());
  const size_t count = 1 + random->Below(others.size() - begin);
  const size_t at = random->Below(tokens.size() + 1);
  const size_t gone =
      random->OneIn(2) ? 0 : random->Below(tokens.size() - at + 1);
  const auto place = tokens.begin() + static_cast<ptrdiff_t>(at);
  tokens.insert(tokens.erase(place, place + static_cast<ptrdiff_t>(gone)),
                others.begin() + static_cast<ptrdiff_t>(begin),
                others.begin() + static_cast<ptrdiff_t>(begin + count));
  return Store(tokens, out, max_size);
}

std::string DictionaryOf(const TextLanguage& language) {
  std::string dictionary;
  for (const std::string& word : language.words) {
    dictionary += '"';
    for (const char c : word) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\x%02X", static_cast<uint8_t>(c));
      dictionary += escaped;
    }
    dictionary += "\"\n";
  }
  return dictionary;
}

}  // namespace ROCKSDB_NAMESPACE::protean
