# SPDX-License-Identifier: Apache-2.0

# The native half of protean-rocksjava (plugin/java): a library that the Java VM loads after RocksDB's and Protean's. It is
# built on request, cmake --build build --target protean_jni, where a JDK has its headers.

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

file(GLOB java_sources CONFIGURE_DEPENDS plugin/java/native/*.cc)
add_library(protean_jni SHARED EXCLUDE_FROM_ALL ${java_sources})
set_target_properties(protean_jni PROPERTIES OUTPUT_NAME "protean-jni-${protean_tag}"
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/plugin/java/native/exports.map")
target_include_directories(protean_jni PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(protean_jni SYSTEM PRIVATE "${JNI_INCLUDE_DIR}" "${JNI_INCLUDE_DIR}/linux")
target_compile_features(protean_jni PRIVATE cxx_std_${rocksdb_cxx_standard})
target_link_libraries(protean_jni PRIVATE protean_shared rocksdb_includes ${CMAKE_DL_LIBS})
# Unloading the class that has loaded the library must not remove the function that RocksDB's OptionsUtil has got from it.
target_link_options(protean_jni PRIVATE LINKER:-z,nodelete LINKER:--as-needed
  "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/plugin/java/native/exports.map")
