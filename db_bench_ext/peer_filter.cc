// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/peer_filter.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void PutString(const std::string& bytes, std::ofstream* out) {
  std::string length;
  PutFixed32(&length, static_cast<uint32_t>(bytes.size()));
  *out << length << bytes;
}

void WriteQueries(const std::string& path, const std::vector<Query>& queries) {
  std::ofstream out(path, std::ios::binary);
  for (const Query& query : queries) {
    PutString(query.lo, &out);
    PutString(query.hi, &out);
    out << (query.hi_inclusive ? '\1' : '\0');
  }
}

// Runs a shell command, and appends its standard output to `output`.
Status OutputOf(const std::string& command, std::string* output) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Status::Aborted(command, "cannot be started");
  char buffer[1 << 16];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    output->append(buffer, n);
  }
  const int code = pclose(pipe);
  return code == 0 ? Status::OK() : Status::Aborted(command, "has failed");
}

Status Parse(const std::string& output,
             const std::vector<const std::vector<Query>*>& queries,
             PeerResult* result) {
  const auto wrong = [](const std::string& what) {
    return Status::Aborted("the peer's output", what);
  };
  std::istringstream in(output);
  std::string line;
  std::getline(in, line);
  if (!(std::istringstream(line) >> result->bytes >> result->build_ns)) {
    return wrong("does not begin with bytes and ns: " + line.substr(0, 80));
  }
  for (const std::vector<Query>* list : queries) {
    PeerAnswers answers;
    std::string bits;
    std::getline(in, line);
    std::istringstream words(line);
    if (!(words >> answers.ns)) return wrong("lacks ns: " + line.substr(0, 80));
    words >> bits;
    if (bits.size() != list->size() ||
        bits.find_first_not_of("01") != std::string::npos) {
      return wrong("has no 0 or 1 for each of " + std::to_string(list->size()) +
                   " queries, but " + std::to_string(bits.size()));
    }
    answers.matches =
        static_cast<uint64_t>(std::count(bits.begin(), bits.end(), '1'));
    result->answers.push_back(answers);
  }
  return Status::OK();
}

}  // namespace

Status RunPeer(const std::string& command, const std::string& bits_per_key,
               const std::vector<std::string>& keys,
               const std::vector<Query>& samples,
               const std::vector<const std::vector<Query>*>& queries,
               PeerResult* result) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "protean_peer_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::IOError(folder, "cannot be made");
  }
  std::ofstream key_file(folder + "/keys", std::ios::binary);
  for (const std::string& key : keys) PutString(key, &key_file);
  key_file.close();
  WriteQueries(folder + "/samples", samples);
  std::string line =
      command + " " + folder + "/keys " + folder + "/samples " + bits_per_key;
  for (size_t i = 0; i < queries.size(); i++) {
    const std::string path = folder + "/queries" + std::to_string(i);
    WriteQueries(path, *queries[i]);
    line += " " + path;
  }
  std::string output;
  Status s = OutputOf(line, &output);
  if (s.ok()) s = Parse(output, queries, result);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
