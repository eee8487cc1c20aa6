// SPDX-License-Identifier: Apache-2.0

#include "plugin/utf8_text.h"

#include <cstdint>
#include <cstdio>

namespace ROCKSDB_NAMESPACE::protean {

std::string Utf8Text(const std::string& text) {
  constexpr char kReplacement[] = "\xef\xbf\xbd";
  // The size of the character at `i` in bytes, or 0 if there is none.
  const auto size_at = [&text](size_t i) -> size_t {
    const auto byte = [&](size_t at) {
      return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
    };
    const unsigned first = byte(i);
    if (first < 0x80) return 1;
    const size_t size = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
    for (size_t j = 1; j < size; j++) {
      if (byte(i + j) >> 6 != 2) return 0;
    }
    // Rules out overlong forms, surrogates, and numbers beyond the last
    // character.
    const unsigned second = byte(i + 1);
    const bool wrong =
        (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return wrong ? 0 : size;
  };
  std::string valid;
  for (size_t i = 0; i < text.size();) {
    const size_t size = size_at(i);
    if (size == 0) {
      valid += kReplacement;
      i++;
    } else {
      valid.append(text, i, size);
      i += size;
    }
  }
  return valid;
}

std::string JsonText(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8Text(text)) {
    if (c == '"' || c == '\\') {
      escaped.push_back('\\');
      escaped.push_back(c);
    } else if (static_cast<uint8_t>(c) < 0x20) {
      char code[8];
      snprintf(code, sizeof(code), "\\u%04x", c);
      escaped += code;
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

}  // namespace ROCKSDB_NAMESPACE::protean
