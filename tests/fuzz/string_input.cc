// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/string_input.h"

#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxLength = FuzzInput::kMaxLength;

class StringsMutator {
 public:
  // Without a language, the strings are keys.
  StringsMutator(Strings* strings, const TextLanguage* language, Dice* random,
                 GenericMutator generic)
      : strings_(*strings),
        language_(language),
        random_(*random),
        generic_(generic) {}

  void Mutate() {
    using Mutator = StringsMutator;
    using Mutation = void (Mutator::*)();
    static constexpr Mutation kOfKeys[] = {
        &Mutator::Insert,
        &Mutator::InsertNeighbor,
        &Mutator::InsertNeighbor,
        &Mutator::InsertNeighbor,
        &Mutator::InsertJoined,
        &Mutator::InsertDense,
        &Mutator::Erase,
        &Mutator::Swap,
        &Mutator::ChangeGenerically,
    };
    static constexpr Mutation kOfTexts[] = {
        &Mutator::Insert,       &Mutator::Insert,
        &Mutator::Replace,      &Mutator::Replace,
        &Mutator::Erase,        &Mutator::Repeat,
        &Mutator::Swap,         &Mutator::ChangeNumber,
        &Mutator::ChangeNumber, &Mutator::ChangeGenerically,
    };
    if (strings_.empty()) return Insert();
    (this->*(language_ != nullptr
                 ? kOfTexts[random_.Below(std::size(kOfTexts))]
                 : kOfKeys[random_.Below(std::size(kOfKeys))]))();
  }

 private:
  std::string& Pick() { return strings_[random_.Below(strings_.size())]; }
  auto Place(size_t index) {
    return strings_.begin() + static_cast<ptrdiff_t>(index);
  }
  // A random range of at most `most` strings.
  std::pair<size_t, size_t> PickRange(size_t most) {
    const size_t begin = random_.Below(strings_.size());
    const size_t left = strings_.size() - begin;
    return {begin, begin + 1 + random_.Below(std::min(most, left))};
  }
  std::string AnyString() {
    std::string any(random_.Below(12), random_.Byte());
    for (char& c : any) {
      c = random_.OneIn(2) ? random_.Byte()
                           : random_.Of({'\0', '\xff', 'a', 'b', c});
    }
    return any;
  }
  std::string NewString() {
    if (language_ == nullptr) return AnyString();
    const std::string& separators = language_->separators;
    if (random_.OneIn(4)) {
      return std::string(1, separators[random_.Below(separators.size())]);
    }
    return random_.In(language_->words);
  }

  void Insert(const std::string& string) {
    strings_.insert(Place(random_.Below(strings_.size() + 1)), string);
  }
  void Insert() { Insert(NewString()); }
  // Inserts a string that differs at the end.
  void InsertNeighbor() {
    std::string string = Pick();
    const char ends[] = {'\0', '\xff', random_.Byte()};
    const size_t way = random_.Below(6);
    if (way < std::size(ends)) {
      string.push_back(ends[way]);
    } else if (way == std::size(ends)) {
      string.resize(random_.Below(string.size() + 1));
    } else if (!string.empty()) {
      const size_t last = string.size() - 1;
      string[random_.OneIn(2) ? last : random_.Below(last + 1)] +=
          random_.OneIn(2) ? 1 : -1;
    }
    Insert(string);
  }
  // Inserts the beginning of one string with the end of another.
  void InsertJoined() {
    const std::string& a = Pick();
    const std::string& b = Pick();
    Insert(a.substr(0, random_.Below(a.size() + 1)) +
           b.substr(random_.Below(b.size() + 1)));
  }
  // Inserts many strings that differ in one byte.
  void InsertDense() {
    const std::string begin = Pick();
    char byte = random_.Byte();
    const auto step = static_cast<char>(1 + random_.Below(9));
    for (uint64_t left = 1 + random_.Below(20); left > 0; left--) {
      Insert(begin + byte);
      byte = static_cast<char>(byte + step);
    }
  }
  void Replace() { Pick() = NewString(); }
  void Erase() {
    const auto [begin, end] = PickRange(random_.OneIn(4) ? strings_.size() : 2);
    strings_.erase(Place(begin), Place(end));
  }
  // Repeats a range elsewhere.
  void Repeat() {
    const auto [begin, end] = PickRange(8);
    const Strings copy(Place(begin), Place(end));
    strings_.insert(Place(random_.Below(strings_.size() + 1)), copy.begin(),
                    copy.end());
  }
  // The first strings of a list are queries.
  void Swap() { std::swap(Pick(), Pick()); }
  void ChangeNumber() {
    std::string& word = Pick();
    word = word.find_first_of("0123456789") == std::string::npos
               ? NewString()
               : random_.Of({"0",          "1",
                             "2",          "32",
                             "33",         "64",
                             "65",         "4294967295",
                             "4294967296", "18446744073709551616",
                             "-1",         "+1",
                             "1e3",        "1.5",
                             "2.0000001",  "00",
                             ".",          "63.9999999",
                             "0x10",       "1.9999999"});
  }
  void ChangeGenerically() {
    std::string& string = Pick();
    string.resize(std::min(string.size(), kMaxLength - 8));
    string = MutateGenerically(string, string.size() + 8, generic_);
  }

  Strings& strings_;
  const TextLanguage* const language_;
  Dice& random_;
  const GenericMutator generic_;
};

// A range of one list in the place of a range of the other, which may be empty.
Strings CrossStrings(const Strings& a, const Strings& b, Dice* random) {
  const size_t begin = random->Below(b.size());
  const size_t end = begin + 1 + random->Below(b.size() - begin);
  const size_t at = random->Below(a.size() + 1);
  const size_t gone = random->OneIn(2) ? 0 : random->Below(a.size() - at + 1);
  Strings crossed(a.begin(), a.begin() + static_cast<ptrdiff_t>(at));
  crossed.insert(crossed.end(), b.begin() + static_cast<ptrdiff_t>(begin),
                 b.begin() + static_cast<ptrdiff_t>(end));
  crossed.insert(crossed.end(), a.begin() + static_cast<ptrdiff_t>(at + gone),
                 a.end());
  return crossed;
}

}  // namespace

// ---- Keys and queries ----

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

void MutateStrings(Strings* strings, Dice* random, GenericMutator generic) {
  StringsMutator(strings, /*language=*/nullptr, random, generic).Mutate();
}

ListInput ListInput::Parse(const Slice& input) {
  FuzzInput pieces(input);
  ListInput list;
  list.parameters = pieces.Bytes(kParameters).ToString();
  list.parameters.resize(kParameters);
  list.strings = ParseStrings(pieces);
  return list;
}

std::string ListInput::Join(size_t max_size) const {
  const std::string input = parameters.substr(0, max_size);
  return input + StoreStrings(strings, max_size - input.size());
}

std::string MutateListInput(const Slice& data, size_t max_size, Dice* random,
                            GenericMutator generic) {
  ListInput input = ListInput::Parse(data);
  for (uint64_t left = 1 + random->Below(3); left > 0; left--) {
    if (!random->OneIn(10)) {
      MutateStrings(&input.strings, random, generic);
      continue;
    }
    char& byte = input.parameters[random->Below(ListInput::kParameters)];
    byte = random->Of({'\0', '\x01', '\xff', static_cast<char>(byte + 1),
                       static_cast<char>(byte - 1), random->Byte()});
  }
  return input.Join(max_size);
}

std::string CrossListInputs(const Slice& a, const Slice& b, size_t max_size,
                            Dice* random) {
  ListInput input = ListInput::Parse(a);
  const ListInput other = ListInput::Parse(b);
  if (random->OneIn(4)) input.parameters = other.parameters;
  if (!other.strings.empty()) {
    input.strings = CrossStrings(input.strings, other.strings, random);
  }
  return input.Join(max_size);
}

// ---- Texts ----

namespace {

Strings Split(const TextLanguage& language, const Slice& text) {
  Strings tokens;
  bool in_word = false;
  for (size_t i = 0; i < text.size(); i++) {
    const bool separator =
        language.separators.find(text[i]) != std::string::npos;
    if (separator || !in_word) tokens.emplace_back();
    tokens.back().push_back(text[i]);
    in_word = !separator;
  }
  return tokens;
}

std::string JoinTokens(const Strings& tokens, size_t max_size) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text.substr(0, max_size);
}

}  // namespace

std::string MutateText(const TextLanguage& language, const Slice& text,
                       size_t max_size, Dice* random, GenericMutator generic) {
  Strings tokens = Split(language, text);
  StringsMutator mutator(&tokens, &language, random, generic);
  for (uint64_t left = 1 + random->Below(3); left > 0; left--) mutator.Mutate();
  return JoinTokens(tokens, max_size);
}

std::string CrossTexts(const TextLanguage& language, const Slice& a,
                       const Slice& b, size_t max_size, Dice* random) {
  const Strings others = Split(language, b);
  if (others.empty()) return "";
  return JoinTokens(CrossStrings(Split(language, a), others, random), max_size);
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
