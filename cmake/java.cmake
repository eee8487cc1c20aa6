# SPDX-License-Identifier: Apache-2.0

# The native half of protean-rocksjava (plugin/java): a loader, which the Java VM loads, and the functions for Java, which the
# loader binds to the RocksDB of the Java class and to its Protean. It is built on request, cmake --build build --target
# protean_jni, where a JDK has its headers.

# The JDK of the Java compiler, or the one that JAVA_HOME names. (FindJNI does not know where all of them are.)
find_program(JAVAC javac HINTS ENV JAVA_HOME PATH_SUFFIXES bin)
if(JAVAC)
  file(REAL_PATH "${JAVAC}" java_home)
  get_filename_component(java_home "${java_home}/../.." ABSOLUTE)
  find_path(JNI_INCLUDE_DIR jni.h PATHS "${java_home}/include" NO_DEFAULT_PATH)
endif()
if(NOT JAVAC OR NOT JNI_INCLUDE_DIR)
  return()
endif()

add_protean_loader(protean_jni_loader protean-jni plugin/java/native/loader_jni.cc)
set_target_properties(protean_jni_loader PROPERTIES EXCLUDE_FROM_ALL ON)
target_include_directories(protean_jni_loader SYSTEM PRIVATE "${JNI_INCLUDE_DIR}" "${JNI_INCLUDE_DIR}/linux")

file(GLOB java_sources CONFIGURE_DEPENDS plugin/java/native/*.cc)
list(FILTER java_sources EXCLUDE REGEX "/loader_jni\\.cc$")
add_library(protean_jni SHARED EXCLUDE_FROM_ALL ${java_sources} plugin/shared/private_copy.cc)
set_target_properties(protean_jni PROPERTIES OUTPUT_NAME "protean-jni-${protean_tag}"
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/plugin/java/native/exports.map")
add_dependencies(protean_jni protean_jni_loader)
target_include_directories(protean_jni PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(protean_jni SYSTEM PRIVATE "${JNI_INCLUDE_DIR}" "${JNI_INCLUDE_DIR}/linux")
target_compile_features(protean_jni PRIVATE cxx_std_${rocksdb_cxx_standard})
target_link_libraries(protean_jni PRIVATE rocksdb_includes)
target_link_options(protean_jni PRIVATE LINKER:--as-needed
  "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/plugin/java/native/exports.map")
