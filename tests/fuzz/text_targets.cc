// SPDX-License-Identifier: Apache-2.0

//  Samples files, and texts of filter policies and of tables.

#include <iterator>
#include <sstream>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "table/protean_table_factory.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Samples files ----

const char kFile[] = "/folder/samples";

using Queries = std::vector<SampleQuery>;

std::shared_ptr<SampleStore> NewStore(size_t capacity) {
  SampleStoreOptions options;
  options.sample_capacity = capacity;
  options.samples_file = kFile;
  return std::make_shared<SampleStore>(options);
}

// The beginning of a saved file.
const std::string& Header() {
  static const auto* const header = [] {
    TextEnv env;
    Check(WriteQueryFile(&env, kFile, {}).ok(), "an empty file is written");
    return new std::string(env.files().Read(kFile));
  }();
  return *header;
}

// A file that cannot be read is never overwritten.
void CheckBadFile(TextEnv* env, const std::string& text) {
  const auto store = NewStore(10);
  Check(store->Validate(env).ok(), "a bad file keeps no DB from opening");
  auto session = store->Open(kDefaultColumnFamilyName, env, nullptr);
  Check(session->size() == 0, "nothing comes of a bad file");
  session->Record("a", "b", true);
  session.reset();
  Check(env->files().HasOneFile("/folder") && env->files().Read(kFile) == text,
        "a bad file stays as it is");
}

// The queries that a queue holds after these have come one after the other.
Queries LastOf(const Queries& queries, size_t capacity) {
  const size_t most = capacity * QueryQueue::kMaxBytesPerQuery;
  size_t bytes = 0;
  auto begin = queries.end();
  while (begin != queries.begin() &&
         static_cast<size_t>(queries.end() - begin) < capacity) {
    const SampleQuery& before = *(begin - 1);
    bytes += before.lo.size() + before.hi.size();
    // The queue keeps the latest query in any case.
    if (bytes > most && begin != queries.end()) break;
    --begin;
  }
  return Queries(begin, queries.end());
}

void RunSamples(const Slice& input) {
  static auto* const env = new TextEnv;
  const std::string text = input.ToString();
  env->files().Write(kFile, text);

  Queries written;
  std::vector<std::string> refused;
  const Status strict = ReadQueryFile(env, kFile, &written, &refused);
  Check(strict.ok() || (strict.IsInvalidArgument() && written.empty()),
        "a file is read or refused");
  Queries queries;
  std::vector<std::string> left_out;
  const Status s = ReadSavedQueries(env, kFile, &queries, &left_out);
  if (Slice(text).starts_with(Header())) {
    // The two may only differ about a last line that is cut off.
    Check(s.ok(), "what is damaged of a saved file is left out");
    if (strict.ok() && text.back() == '\n') {
      Check(queries == written && left_out == refused,
            "a saved file that is whole is read as it is");
    }
    Check(!strict.ok() || queries.size() + 1 >= written.size(),
          "at most the last line is cut off");
  } else {
    Check(s.code() == strict.code() && queries == written,
          "a file that somebody has written is read as it is");
  }
  if (!s.ok()) {
    CheckBadFile(env, text);
    return;
  }
  for (const SampleQuery& query : queries) {
    Check(!IsInverted(query.lo, query.hi, query.hi_inclusive),
          "a query can hold a key");
  }

  // The restored queries, with one more, are saved and restored again.
  const size_t capacity = 1 + text.size() % 11;
  Queries held = LastOf(queries, capacity);
  {
    const auto store = NewStore(capacity);
    Check(store->Validate(env).ok(), "a good file is not refused");
    auto session = store->Open(kDefaultColumnFamilyName, env, nullptr);
    Check(session->Snapshot() == held, "what is read is restored");
    session->Record("a", "b", false);
  }
  held.push_back({"a", "b", false});
  held = LastOf(held, capacity);
  Check(env->files().HasOneFile("/folder"), "no temporary file is left");
  Queries again;
  std::vector<std::string> refused_again;
  Check(ReadQueryFile(env, kFile, &again, &refused_again).ok() &&
            again == held && refused_again.empty(),
        "what is saved is read again");

  // The queue has room for all queries.
  again.clear();
  Check(WriteQueryFile(env, kFile, queries).ok() &&
            ReadQueryFile(env, kFile, &again, &refused_again).ok() &&
            again == queries && refused_again.empty(),
        "what is written is read again");
}

std::vector<std::string> SamplesWords() {
  std::vector<std::string> words = {"0x",          "0X",
                                    "0x00",        "0xff",
                                    "0xFF01",      "0xa",
                                    "0xg0",        "exclusive",
                                    "exclusive\n", "\t",
                                    "\n",          "\r\n",
                                    "0x\t0x\n",    "0x61\t0x62\texclusive\n",
                                    "# comment\n", "a\tb\n",
                                    "b\ta\n",      "a\ta\texclusive\n"};
  words.insert(words.end(), {std::string(30, 'f'), Header()});
  return words;
}

std::vector<std::string> SamplesSeeds() {
  return {"# Queries\n0x6b6579\n0x61\t0x62\n0x61\t0x6263\texclusive\n",
          "key\nlo\thi\nlo\thi\texclusive\n\n# comment\n",
          "0x\n",
          "0x\t0xff\texclusive",
          "b\ta\nx\tx\texclusive\n",
          "0x616\n",
          "a\tb\tinclusive\n",
          "a\tb\texclusive\tc\n",
          "",
          Header(),
          Header() + "0x61\t0x62\n0x6",
          Header() + "0x61\t0x62\texclusive\n0x6g\n0x63\n0x62\t0x61\n"};
}

// ---- Options ----
//
//    p<text>   the text is a filter policy
//    t<text>   the text is options of ProteanTable
//
// RocksDB parses the objects, braces and options around Protean's own.
// RocksDB's part is not tested here.

ConfigOptions Config() {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  config.invoke_prepare_options = false;
  return config;
}

std::shared_ptr<ProteanTableFactory> NewTable() {
  // Otherwise, every table would make a block cache.
  static BlockBasedTableOptions options;
  options.no_block_cache = true;
  return std::make_shared<ProteanTableFactory>(options);
}

const FilterPolicy* PolicyOf(const ProteanTableFactory& table) {
  return table.GetOptions<BlockBasedTableOptions>()->filter_policy.get();
}

// RocksDB does not escape these characters when it writes a string, and removes
// spaces at the ends when it reads one.
bool IsWrittenAsRead(const std::string& text) {
  return text.find_first_of("{};=\\#:\r\n \t\v\f,") == std::string::npos &&
         text.find('\0') == std::string::npos;
}

// Names of files, and seeds before validation, are Protean's only free texts.
bool HasOddText(const FilterPolicy* policy) {
  const auto* own = AsProteanFilterPolicy(policy);
  const auto samples = own == nullptr ? nullptr : own->Samples();
  return samples != nullptr &&
         !(IsWrittenAsRead(samples->options().seed_file) &&
           IsWrittenAsRead(samples->options().seeds) &&
           IsWrittenAsRead(samples->options().samples_file));
}

void CheckWritten(const ConfigOptions& config, const FilterPolicy* policy) {
  if (AsProteanFilterPolicy(policy) == nullptr || HasOddText(policy)) return;
  const std::string written = policy->ToString(config);
  const auto table = NewTable();
  const Status s = table->ConfigureOption(config, "filter_policy", written);
  Check(s.ok(), "what is written can be read");
  const FilterPolicy* again = PolicyOf(*table);
  Check(again != nullptr && again->ToString(config) == written,
        "what is read is written the same");
  std::string mismatch;
  Check(policy->AreEquivalent(config, again, &mismatch),
        "what is read is equivalent");
}

// Whether a DB with this table would open. If not, no options are written.
bool IsValid(const std::shared_ptr<ProteanTableFactory>& table) {
  static auto* const env = new TextEnv;
  static auto* const db_options = new DBOptions;
  static auto* const cf_options = new ColumnFamilyOptions;
  db_options->env = env;
  env->files().Write("good", "0x61\t0x62\n");
  env->files().Write("bad", "0xg");
  cf_options->table_factory = table;
  const FilterPolicy* policy = PolicyOf(*table);
  const Status s = AsProteanFilterPolicy(policy) == nullptr
                       ? Status::OK()
                       : policy->ValidateOptions(*db_options, *cf_options);
  Check(s.ok() || s.IsInvalidArgument(), "options are valid or refused");
  cf_options->table_factory.reset();
  return s.ok();
}

void RunOptions(const Slice& input) {
  if (input.empty()) return;
  static const int registered = register_protean(*ObjectLibrary::Default(), "");
  Check(registered > 0, "the policies are known");
  static const auto* const config = new ConfigOptions(Config());
  const std::string text(input.data() + 1, input.size() - 1);
  // A cache allocates the size that its option says at once.
  if (text.find("cache") != std::string::npos) return;
  const auto table = NewTable();
  if (input[0] == 't') {
    if (!table->ConfigureFromString(*config, text).ok()) return;
  } else {
    const Status s = table->ConfigureOption(*config, "filter_policy", text);
    if (!s.ok()) {
      Check(s.IsInvalidArgument(), "a filter policy is made or refused");
      return;
    }
  }
  if (IsValid(table)) CheckWritten(*config, PolicyOf(*table));
}

std::vector<std::string> OptionsWords() {
  std::istringstream words(
      // Policies.
      "id protean.SuRF protean.Proteus protean.PrefixBloom "
      "protean.TwoPrefixBloom protean.Levels surf proteus prefixbloom "
      "prefixbloom2 levels surf:0:4 proteus:12 proteus:12:bloom "
      "bloomfilter:10 ribbonfilter:10 nullptr "
      // Their options.
      "bits_per_key prefix_filter_type kBloom ribbon auto level_bits equal "
      "point_lookups_use_whole_keys true false_positive_cost_micros 2 "
      "filter_budget_bytes 512M 2g 2G 18446744073709551615 sample_capacity "
      "sample_every seed_file seeds 0x61,0x62-0x63 -exclusive samples_file "
      "good bad hash_suffix_bits real_suffix_bits prefix_suffix_bits "
      "policies "
      // Options of a table.
      "filter_policy partition_filters decouple_partitioned_filters "
      "metadata_block_size index_type kTwoLevelIndexSearch "
      "whole_key_filtering true false "
      // Phrases.
      "{id=protean.SuRF;real_suffix_bits=4} "
      "{id=protean.Levels;policies={surf:0:4,proteus:12}} "
      "{id=protean.Proteus;bits_per_key=10.5;prefix_filter_type=kBloom} "
      "filter_policy=surf:0:4; "
      // Numbers and separators.
      "1e3 1.5 2.0000001 63.9999999 33 65 4294967295 4294967296 0x10 { } = ; "
      ": ,");
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> OptionsSeeds() {
  return {
      "psurf:0:4",
      "psurf:8:8",
      "psurf:0:0:8",
      "pproteus:12",
      "pproteus:10.5:ribbon",
      "pprefixbloom:12:bloom",
      "pprefixbloom2:14",
      "p{id=protean.SuRF;hash_suffix_bits=4;real_suffix_bits=4}",
      "p{id=protean.Proteus;bits_per_key=12;prefix_filter_type=kAuto;level_"
      "bits=kEqual;"
      "sample_capacity=100;sample_every=1;seed_file=good;samples_file=/bad}",
      "p{id=protean.Proteus;filter_budget_bytes=2G}",
      "p{id=protean.Proteus;bits_per_key=12;filter_budget_bytes=0}",
      "p{id=protean.Proteus;filter_budget_bytes=1;level_bits=kEqual}",
      "pproteus",
      "psurf",
      "plevels:bloomfilter:10,{id=protean.Proteus;filter_budget_bytes=2G}",
      "p{id=protean.PrefixBloom;point_lookups_use_whole_keys=true}",
      "p{id=protean.PrefixBloom;false_positive_cost_micros=2}",
      "p{id=protean.TwoPrefixBloom;point_lookups_use_whole_keys=true}",
      "plevels:bloomfilter:10,proteus:12",
      "plevels:nullptr,surf:0:4,{id=protean.Proteus;samples_file=/good}",
      "p{id=protean.Levels;policies={surf:0:4,proteus:12}}",
      "pbloomfilter:10",
      "pnullptr",
      "tfilter_policy=surf:0:4;whole_key_filtering=true;",
      "tfilter_policy={id=protean.Proteus;bits_per_key=11};"
      "partition_filters=false;",
      "tfilter_policy=levels:surf:0:4,proteus:12;",
      "trange_filters=false;filter_policy=proteus:12;partition_filters=true;"
      "index_type=kTwoLevelIndexSearch;metadata_block_size=4096;"
      "pin_top_level_index_and_filter=true;",
      "tpartition_filters=true;filter_policy={id=protean.Proteus;"
      "filter_budget_bytes=2G;samples_file=/good};",
  };
}

}  // namespace

const FuzzTarget kSamplesTarget = {"samples", RunSamples, SamplesSeeds, nullptr,
                                   SamplesWords};
const FuzzTarget kOptionsTarget = {"options", RunOptions, OptionsSeeds, nullptr,
                                   OptionsWords};

}  // namespace ROCKSDB_NAMESPACE::protean
