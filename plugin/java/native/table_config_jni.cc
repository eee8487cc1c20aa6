// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava that create tables, for
//  ProteanTableConfig and for OptionsUtil of RocksDB's binding, which reads
//  OPTIONS files.

#include <memory>
#include <string>
#include <utility>

#include "plugin/build_info.h"
#include "plugin/java/native/jni_util.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"

// Defined by libprotean-rocksdb-TAG.so.1 (plugin/shared/binding.cc).
extern "C" bool protean_is_registered();

// Defined by RocksDB's binding. If it is not there, options are read as without
// Protean.
extern "C" [[gnu::weak]] jobject
Java_org_rocksdb_OptionsUtil_readTableFormatConfig(JNIEnv*, jclass, jlong);

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProteanTable[] = "ProteanTable";
constexpr char kFilterPolicy[] = "filter_policy";
constexpr char kRangeFilters[] = "range_filters";

ConfigOptions StrictOptions() {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

// Stores a ProteanTable with the options of another block-based table and the
// given filter policy, which all tables of the group share; an empty group
// shares nothing. The table has no shared owner: RocksDB's binding passes
// factories as plain pointers, which the options that get them own.
Status NewTable(TableFactory* other, const std::string& filter_policy,
                const std::string& sample_group, bool range_filters,
                std::unique_ptr<TableFactory>* table) {
  if (filter_policy.empty()) {
    return Status::InvalidArgument(
        "filter_policy= is not allowed; allowed: filter policies, and nullptr "
        "for none");
  }
  const auto* const options = other->GetOptions<BlockBasedTableOptions>();
  if (options == nullptr) {
    return Status::InvalidArgument(
        std::string(
            "ProteanTable is made from a block-based table, not from ") +
        other->Name());
  }
  Status s = ObjectRegistry::Default()->NewUniqueObject<TableFactory>(
      kProteanTable, table);
  if (!s.ok()) return s;
  auto* const own = (*table)->GetOptions<BlockBasedTableOptions>();
  *own = *options;
  own->filter_policy = nullptr;
  const ConfigOptions config = StrictOptions();
  s = (*table)->ConfigureOption(config, kRangeFilters,
                                range_filters ? "true" : "false");
  if (!s.ok()) return s;
  s = sample_group.empty()
          ? (*table)->ConfigureOption(config, kFilterPolicy, filter_policy)
          : GetSharedFilterPolicy(sample_group, filter_policy,
                                  &own->filter_policy);
  return s.ok() ? (*table)->PrepareOptions(config) : s;
}

// Refuses a policy that DB::Open would refuse.
Status CheckPolicy(const std::string& filter_policy) {
  const std::unique_ptr<TableFactory> plain(NewBlockBasedTableFactory());
  std::unique_ptr<TableFactory> table;
  Status s = NewTable(plain.get(), filter_policy, /*sample_group=*/"",
                      /*range_filters=*/true, &table);
  if (!s.ok()) return s;
  ColumnFamilyOptions options;
  options.table_factory = std::move(table);
  return options.table_factory->ValidateOptions(DBOptions(), options);
}

using ReadTableFormatConfig = jobject (*)(JNIEnv*, jclass, jlong);

// Written once, by Native.initialize.
ReadTableFormatConfig read_other_config = nullptr;
// Weak, so that the class can be unloaded with the application that has it.
jweak config_class = nullptr;
jmethodID config_of = nullptr;

// Replaces OptionsUtil.readTableFormatConfig, which refuses tables that
// RocksDB's binding does not know.
jobject ReadConfig(JNIEnv* env, jclass options_util, jlong handle) {
  const auto* const family =
      reinterpret_cast<const ColumnFamilyOptions*>(handle);
  const auto type = static_cast<jclass>(env->NewLocalRef(config_class));
  if (type == nullptr || family == nullptr ||
      family->table_factory == nullptr ||
      !family->table_factory->IsInstanceOf(kProteanTable)) {
    return read_other_config(env, options_util, handle);
  }
  return Call<jobject>(env, options_util, [&](jobject* result) {
    std::string policy;
    std::string range_filters;
    const TableFactory& table = *family->table_factory;
    Status s = table.GetOption(StrictOptions(), kFilterPolicy, &policy);
    if (s.ok()) {
      s = table.GetOption(StrictOptions(), kRangeFilters, &range_filters);
    }
    if (!s.ok()) {
      Throw(env, "java/lang/IllegalArgumentException", s.ToString().c_str());
      return s;
    }
    // The binding reads all other options, which differ with its version.
    BlockBasedTableOptions options =
        *table.GetOptions<BlockBasedTableOptions>();
    options.filter_policy = nullptr;
    ColumnFamilyOptions plain;
    plain.table_factory.reset(NewBlockBasedTableFactory(options));
    const jobject config =
        read_other_config(env, options_util, reinterpret_cast<jlong>(&plain));
    if (config == nullptr || env->ExceptionCheck()) return s;
    const jbyteArray policy_bytes = ToBytes(env, policy);
    if (policy_bytes == nullptr) return s;
    *result = env->CallStaticObjectMethod(type, config_of, config, policy_bytes,
                                          range_filters != "false");
    return s;
  });
}

// If anything is missing, options are read as without Protean.
void TakeOverReadTableFormatConfig(JNIEnv* env, jclass options_util,
                                   jclass table_config) {
  static const char kName[] = "readTableFormatConfig";
  static const char kSignature[] = "(J)Lorg/rocksdb/TableFormatConfig;";
  if (read_other_config != nullptr) return;
  const ReadTableFormatConfig other =
      Java_org_rocksdb_OptionsUtil_readTableFormatConfig;
  const jmethodID of =
      env->GetStaticMethodID(table_config, "of",
                             "(Lorg/rocksdb/BlockBasedTableConfig;[BZ)"
                             "Lprotean/rocksjava/ProteanTableConfig;");
  if (other == nullptr || of == nullptr) return;
  const jweak weak = env->NewWeakGlobalRef(table_config);
  if (weak == nullptr) return;
  read_other_config = other;
  config_class = weak;
  config_of = of;
  const JNINativeMethod method = {const_cast<char*>(kName),
                                  const_cast<char*>(kSignature),
                                  reinterpret_cast<void*>(&ReadConfig)};
  env->RegisterNatives(options_util, &method, 1);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Returns whether Protean is registered with RocksDB. Called once, under a
// lock.
JNIEXPORT jboolean JNICALL Java_protean_rocksjava_Native_initialize(
    JNIEnv* env, jclass /*native*/, jclass options_util, jclass table_config) {
  if (!protean_is_registered()) return JNI_FALSE;
  TakeOverReadTableFormatConfig(env, options_util, table_config);
  if (env->ExceptionCheck()) env->ExceptionClear();
  return JNI_TRUE;
}

JNIEXPORT jbyteArray JNICALL
Java_protean_rocksjava_Native_version(JNIEnv* env, jclass native) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    *result = ToBytes(env, GetBuildInfo().ToString());
    return Status::OK();
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_checkPolicy(
    JNIEnv* env, jclass native, jbyteArray policy) {
  Call<int>(env, native,
            [&](int* /*result*/) { return CheckPolicy(BytesOf(env, policy)); });
}

// Takes ownership of the factory `handle`, even if this fails. The caller owns
// the factory that is returned.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_Native_toProtean(
    JNIEnv* env, jclass native, jlong handle, jbyteArray policy,
    jbyteArray sample_group, jboolean range_filters) {
  return Call<jlong>(env, native, [&](jlong* result) {
    const std::unique_ptr<TableFactory> other(
        reinterpret_cast<TableFactory*>(handle));
    std::unique_ptr<TableFactory> table;
    const Status s =
        NewTable(other.get(), BytesOf(env, policy), BytesOf(env, sample_group),
                 range_filters == JNI_TRUE, &table);
    if (s.ok()) *result = reinterpret_cast<jlong>(table.release());
    return s;
  });
}

}  // extern "C"
