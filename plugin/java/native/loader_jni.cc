// SPDX-License-Identifier: Apache-2.0

//  libprotean-jni.so.1: binds Protean and its functions for Java to the RocksDB
//  of the Java class that asks. A Java VM may have several: each class loader
//  that has rocksdbjni loads a RocksDB of its own.

#include <dlfcn.h>
#include <jni.h>

#include <cstdio>

#include "plugin/shared/load_protean.h"
#include "plugin/shared/private_copy.h"

namespace protean_loader {

namespace {

// Loads the functions for Java, and Protean before, unless that RocksDB has it
// already. Returns their handle, or nullptr; `reason` then says why.
void* LoadFunctions(const void* in_rocksdb, const char* folder, char* reason,
                    size_t size) {
  LoadedRocksDB rocksdb;
  if (FindRocksDB(in_rocksdb, &rocksdb) == 0) {
    snprintf(reason, size,
             "the RocksDB of this class loader hides its symbols");
    return nullptr;
  }
  char tag[kMaxTag];
  if (!TagOf(rocksdb, tag, reason, size)) return nullptr;
  char protean[kMaxPath];
  if (!FindProteanOf(rocksdb, protean)) {
    if (!LoadProtean(rocksdb, folder, reason, size)) return nullptr;
    if (!FindProteanOf(rocksdb, protean)) {
      snprintf(reason, size, "Protean was bound to another RocksDB than %s",
               rocksdb.Path());
      return nullptr;
    }
  }
  char path[kMaxPath];
  snprintf(path, sizeof(path), "%slibprotean-jni-%s.so." PROTEAN_SOVERSION,
           folder, tag);
  return LoadDependingOn(path, protean, reason, size);
}

void Throw(JNIEnv* env, const char* reason) {
  const jclass error = env->FindClass("java/lang/UnsatisfiedLinkError");
  if (error != nullptr) env->ThrowNew(error, reason);
}

// The first word of a C++ object with virtual functions points into the library
// that made the object.
const void* LibraryOf(jlong object) {
  return *reinterpret_cast<const void* const*>(object);
}

// Makes a function of the library `handle` the native method of a class. Throws
// if there is no such function.
void Link(JNIEnv* env, void* handle, jclass type, jstring symbol, jstring name,
          jstring signature) {
  const char* const symbol_text = env->GetStringUTFChars(symbol, nullptr);
  const char* const name_text = env->GetStringUTFChars(name, nullptr);
  const char* const signature_text = env->GetStringUTFChars(signature, nullptr);
  if (symbol_text != nullptr && name_text != nullptr &&
      signature_text != nullptr) {
    void* const function = dlsym(handle, symbol_text);
    const JNINativeMethod method = {const_cast<char*>(name_text),
                                    const_cast<char*>(signature_text),
                                    function};
    if (function == nullptr) {
      Throw(env, dlerror());
    } else {
      env->RegisterNatives(type, &method, 1);
    }
  }
  if (signature_text != nullptr) {
    env->ReleaseStringUTFChars(signature, signature_text);
  }
  if (name_text != nullptr) env->ReleaseStringUTFChars(name, name_text);
  if (symbol_text != nullptr) env->ReleaseStringUTFChars(symbol, symbol_text);
}

}  // namespace

}  // namespace protean_loader

extern "C" {

// Loads Protean and the functions for Java from a folder. `rocksdb_env` is an
// Env of the RocksDB to bind to. Returns a handle for link.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_NativeLibraries_00024Loader_bind(
    JNIEnv* env, jclass /*loader*/, jlong rocksdb_env, jstring folder) {
  const char* const folder_text = env->GetStringUTFChars(folder, nullptr);
  if (folder_text == nullptr) return 0;
  char reason[3 * protean_loader::kMaxPath] = "";
  void* const handle =
      protean_loader::LoadFunctions(protean_loader::LibraryOf(rocksdb_env),
                                    folder_text, reason, sizeof(reason));
  env->ReleaseStringUTFChars(folder, folder_text);
  if (handle == nullptr) protean_loader::Throw(env, reason);
  return reinterpret_cast<jlong>(handle);
}

// Connects a native method with its function.
JNIEXPORT void JNICALL Java_protean_rocksjava_NativeLibraries_00024Loader_link(
    JNIEnv* env, jclass /*loader*/, jlong handle, jclass type, jstring symbol,
    jstring name, jstring signature) {
  protean_loader::Link(env, reinterpret_cast<void*>(handle), type, symbol, name,
                       signature);
}

}  // extern "C"
