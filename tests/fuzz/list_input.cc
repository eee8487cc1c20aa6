// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/list_input.h"

#include <cstring>
#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxLength = FuzzInput::kMaxLength;

size_t Store(const std::string& bytes, uint8_t* out) {
  memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

class ListMutator {
 public:
  ListMutator(ListInput* input, FuzzRandom* random, GenericMutator generic)
      : strings_(input->strings),
        parameters_(input->parameters),
        random_(*random),
        generic_(generic) {}

  void Mutate() {
    using Mutation = void (ListMutator::*)();
    static constexpr Mutation kMutations[] = {
        &ListMutator::ChangeParameter,
        &ListMutator::Insert,
        &ListMutator::InsertNeighbor,
        &ListMutator::InsertNeighbor,
        &ListMutator::InsertNeighbor,
        &ListMutator::InsertJoined,
        &ListMutator::Erase,
        &ListMutator::Move,
        &ListMutator::ChangeGenerically,
        &ListMutator::InsertDense,
    };
    (this->*kMutations[strings_.empty()
                           ? 1
                           : random_.Below(std::size(kMutations))])();
  }

 private:
  std::string& Pick() { return strings_[random_.Below(strings_.size())]; }
  void InsertText(std::string text) {
    text.resize(std::min(text.size(), kMaxLength));
    std::string stored;
    AppendString(text, &stored);
    strings_.insert(strings_.begin() + static_cast<ptrdiff_t>(
                                           random_.Below(strings_.size() + 1)),
                    stored);
  }
  // The text without its length.
  static std::string TextOf(const std::string& stored) {
    return stored.substr(1);
  }

  void ChangeParameter() {
    char& byte = parameters_[random_.Below(parameters_.size())];
    const char bytes[] = {'\0',
                          '\x01',
                          '\xff',
                          static_cast<char>(byte + 1),
                          static_cast<char>(byte - 1),
                          random_.Byte()};
    byte = bytes[random_.Below(std::size(bytes))];
  }
  void Insert() {
    std::string text;
    const char bytes[] = {'\0', '\xff', 'a', 'b', random_.Byte()};
    for (uint64_t left = random_.Below(12); left > 0; left--) {
      text.push_back(random_.OneIn(2) ? random_.Byte()
                                      : bytes[random_.Below(std::size(bytes))]);
    }
    InsertText(text);
  }
  // Inserts a string that differs at the end.
  void InsertNeighbor() {
    std::string text = TextOf(Pick());
    switch (random_.Below(6)) {
      case 0:
        text.push_back('\0');
        break;
      case 1:
        text.push_back('\xff');
        break;
      case 2:
        text.push_back(random_.Byte());
        break;
      case 3:
        text.resize(random_.Below(text.size() + 1));
        break;
      default:
        if (text.empty()) break;
        text[random_.OneIn(2) ? text.size() - 1 : random_.Below(text.size())] +=
            random_.OneIn(2) ? 1 : -1;
    }
    InsertText(text);
  }
  // Inserts the beginning of one string with the end of another.
  void InsertJoined() {
    const std::string a = TextOf(Pick());
    const std::string b = TextOf(Pick());
    InsertText(a.substr(0, random_.Below(a.size() + 1)) +
               b.substr(random_.Below(b.size() + 1)));
  }
  // Inserts many strings that differ in one byte.
  void InsertDense() {
    const std::string text = TextOf(Pick());
    const char first = random_.Byte();
    const auto step = static_cast<char>(1 + random_.Below(9));
    char byte = first;
    for (uint64_t left = 1 + random_.Below(20); left > 0; left--) {
      InsertText(text + byte);
      byte = static_cast<char>(byte + step);
    }
  }
  void Erase() {
    const size_t begin = random_.Below(strings_.size());
    const size_t count =
        1 + random_.Below(random_.OneIn(4) ? strings_.size() - begin : 1);
    strings_.erase(strings_.begin() + static_cast<ptrdiff_t>(begin),
                   strings_.begin() + static_cast<ptrdiff_t>(begin + count));
  }
  // Swaps two strings. The first strings are queries.
  void Move() { std::swap(Pick(), Pick()); }
  void ChangeGenerically() {
    std::string& stored = Pick();
    std::string text = TextOf(stored);
    const size_t size = std::min(text.size(), kMaxLength);
    text.resize(kMaxLength);
    text.resize(generic_(reinterpret_cast<uint8_t*>(text.data()), size,
                         std::min(kMaxLength, size + 8)));
    stored.clear();
    AppendString(text, &stored);
  }

  std::vector<std::string>& strings_;
  std::string& parameters_;
  FuzzRandom& random_;
  const GenericMutator generic_;
};

}  // namespace

void AppendString(const Slice& string, std::string* out) {
  out->push_back(static_cast<char>(std::min(string.size(), kMaxLength)));
  out->append(string.data(), std::min(string.size(), kMaxLength));
}

ListInput ListInput::Parse(const Slice& input) {
  FuzzInput pieces(reinterpret_cast<const uint8_t*>(input.data()),
                   input.size());
  ListInput list;
  list.parameters = pieces.Bytes(kParameters).ToString();
  list.parameters.resize(kParameters);
  while (!pieces.empty()) {
    const Slice before = pieces.rest();
    pieces.String();
    list.strings.emplace_back(before.data(),
                              before.size() - pieces.rest().size());
  }
  return list;
}

std::string ListInput::Join(size_t max_size) const {
  std::string input = parameters.substr(0, max_size);
  for (const std::string& string : strings) {
    if (input.size() + string.size() <= max_size) input += string;
  }
  return input;
}

size_t MutateListInput(uint8_t* data, size_t size, size_t max_size,
                       FuzzRandom* random, GenericMutator generic) {
  ListInput input =
      ListInput::Parse(Slice(reinterpret_cast<const char*>(data), size));
  ListMutator mutator(&input, random, generic);
  for (uint64_t left = 1 + random->Below(3); left > 0; left--) mutator.Mutate();
  return Store(input.Join(max_size), data);
}

size_t CrossListInputs(const Slice& a, const Slice& b, uint8_t* out,
                       size_t max_size, FuzzRandom* random) {
  ListInput input = ListInput::Parse(a);
  const ListInput other = ListInput::Parse(b);
  if (random->OneIn(4)) input.parameters = other.parameters;
  // Some strings of both inputs.
  const uint64_t share = 1 + random->Below(7);
  std::vector<std::string> strings;
  for (const std::string& string : input.strings) {
    if (random->Below(8) < share) strings.push_back(string);
  }
  for (const std::string& string : other.strings) {
    if (random->Below(8) >= share) strings.push_back(string);
  }
  input.strings = std::move(strings);
  return Store(input.Join(max_size), out);
}

}  // namespace ROCKSDB_NAMESPACE::protean
