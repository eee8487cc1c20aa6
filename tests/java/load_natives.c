// SPDX-License-Identifier: Apache-2.0

//  Loads the native libraries for Java as a Java VM does, for platforms that
//  there is no Java VM for: binds them to RocksDB's library, and lets RocksDB
//  write and read a DB with a range filter. Run by load_natives.sh.
//
//      load_natives LIBROCKSDBJNI FOLDER/ DB
//
//  FOLDER has Protean's libraries. DB is created.

#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void Fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void* Load(const char* path) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (handle == NULL) Fail(path, dlerror());
  return handle;
}

static void* Find(void* handle, const char* symbol) {
  void* const address = dlsym(handle, symbol);
  if (address == NULL) Fail(symbol, dlerror());
  return address;
}

// What the loader calls of a Java VM. A jstring is a char*.

static const char* Characters(JNIEnv* env, jstring text, jboolean* is_copy) {
  (void)env;
  (void)is_copy;
  return (const char*)text;
}

static void Release(JNIEnv* env, jstring text, const char* characters) {
  (void)env;
  (void)text;
  (void)characters;
}

static jclass FindClass(JNIEnv* env, const char* name) {
  (void)env;
  return (jclass)(void*)name;
}

static jint Throw(JNIEnv* env, jclass type, const char* message) {
  (void)env;
  Fail((const char*)type, message);
  return 0;
}

// ---- RocksDB's API for C ----

#define CALL(type, name, arguments) \
  ((type(*) arguments)Find(rocksdb, "rocksdb_" #name))

static void Check(char* error) {
  if (error != NULL) Fail("RocksDB", error);
}

static const char kFilterSize[] = "filter block size=";

static void UseDB(void* rocksdb, const char* path) {
  char* error = NULL;
  void* const defaults = CALL(void*, options_create, (void))();
  void* const options = CALL(void*, options_create, (void))();
  CALL(void, get_options_from_string, (void*, const char*, void*, char**))
  (defaults,
   "create_if_missing=true;table_factory={id=ProteanTable;"
   "filter_policy=proteus:14}",
   options, &error);
  Check(error);
  void* const db =
      CALL(void*, open, (void*, const char*, char**))(options, path, &error);
  Check(error);
  void* const writing = CALL(void*, writeoptions_create, (void))();
  char key[32];
  for (int i = 0; i < 10000; i++) {
    const size_t size = (size_t)snprintf(key, sizeof(key), "key%08d", i * 100);
    CALL(void, put,
         (void*, void*, const char*, size_t, const char*, size_t, char**))
    (db, writing, key, size, key, size, &error);
    Check(error);
  }
  void* const flushing = CALL(void*, flushoptions_create, (void))();
  CALL(void, flush, (void*, void*, char**))(db, flushing, &error);
  Check(error);

  // Ranges of 50 numbers: every second one is empty.
  void* const reading = CALL(void*, readoptions_create, (void))();
  int found = 0;
  for (int i = 0; i < 2000; i++) {
    char end[32];
    const int first = i * 50 + 1;
    const size_t size = (size_t)snprintf(key, sizeof(key), "key%08d", first);
    snprintf(end, sizeof(end), "key%08d", first + 50);
    CALL(void, readoptions_set_iterate_upper_bound,
         (void*, const char*, size_t))
    (reading, end, size);
    void* const iterator =
        CALL(void*, create_iterator, (void*, void*))(db, reading);
    CALL(void, iter_seek, (void*, const char*, size_t))(iterator, key, size);
    found += CALL(unsigned char, iter_valid, (const void*))(iterator);
    CALL(void, iter_destroy, (void*))(iterator);
  }
  if (found != 1000) Fail(path, "not every range with a key was found");
  size_t size = 0;
  char* const value =
      CALL(char*, get, (void*, void*, const char*, size_t, size_t*, char**))(
          db, CALL(void*, readoptions_create, (void))(), "key00000700", 11,
          &size, &error);
  Check(error);
  if (value == NULL || size != 11) Fail(path, "a key was not found");
  // The properties of the files name their filter, and its size.
  char* const properties = CALL(char*, property_value, (void*, const char*))(
      db, "rocksdb.aggregated-table-properties");
  const char* const filter =
      properties == NULL ? NULL : strstr(properties, kFilterSize);
  if (filter == NULL || atoi(filter + strlen(kFilterSize)) < 10000) {
    Fail(path, "there is no filter of 8 bits per key or more");
  }
  puts("1000 of 2000 ranges have keys, and were found");
  CALL(void, close, (void*))(db);
}

int main(int count, char** arguments) {
  if (count != 4) Fail(arguments[0], "LIBROCKSDBJNI FOLDER/ DB");
  char loader[4096];
  snprintf(loader, sizeof(loader), "%slibprotean-jni.so.1", arguments[2]);
  void* const rocksdb = Load(arguments[1]);
  void* const protean = Load(loader);
  void* const env =
      ((void* (*)(void))Find(rocksdb, "_ZN7rocksdb3Env7DefaultEv"))();

  struct JNINativeInterface_ functions;
  memset(&functions, 0, sizeof(functions));
  functions.GetStringUTFChars = Characters;
  functions.ReleaseStringUTFChars = Release;
  functions.FindClass = FindClass;
  functions.ThrowNew = Throw;
  JNIEnv jni = &functions;
  typedef jlong (*Bind)(JNIEnv*, jclass, jlong, jstring);
  const Bind bind = (Bind)Find(
      protean, "Java_protean_rocksjava_NativeLibraries_00024Loader_bind");
  if (bind(&jni, NULL, (jlong)env, (jstring)(void*)arguments[2]) == 0) {
    Fail(loader, "it gives no reason");
  }
  puts("bound");
  UseDB(rocksdb, arguments[3]);
  return 0;
}
