# SPDX-License-Identifier: Apache-2.0

# The shared library, which takes RocksDB's symbols from the process that it is loaded into, and libprotean, which any
# process can load and which loads the shared library that fits the RocksDB there (plugin/shared/loader.cc).

file(STRINGS "${rocksdb_source}/include/rocksdb/version.h" rocksdb_version REGEX "^#define ROCKSDB_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+)[^0-9]*([0-9]+).*" "\\1.\\2.\\3" rocksdb_version "${rocksdb_version}")
# The tag is what BuildInfo::Tag() returns (plugin/build_info.h).
set(protean_tag "${rocksdb_version}")
if("-D_GLIBCXX_USE_CXX11_ABI=0" IN_LIST rocksdb_flags)
  string(APPEND protean_tag "-oldabi")
endif()
if(NOT "-DNDEBUG" IN_LIST rocksdb_flags)
  string(APPEND protean_tag "-assert")
endif()
if("-fno-rtti" IN_LIST rocksdb_flags)
  string(APPEND protean_tag "-nortti")
endif()

add_library(protean_shared SHARED $<TARGET_OBJECTS:protean_objects> plugin/shared/binding.cc)
set_target_properties(protean_shared PROPERTIES OUTPUT_NAME "protean-rocksdb-${protean_tag}" EXPORT_NAME shared
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/plugin/shared/exports.map")
target_compile_definitions(protean_shared PRIVATE "PROTEAN_TAG=\"${protean_tag}\"")
target_include_directories(protean_shared PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>")
target_compile_features(protean_shared PUBLIC cxx_std_${rocksdb_cxx_standard})
target_link_libraries(protean_shared PRIVATE $<BUILD_INTERFACE:rocksdb_includes> ${CMAKE_DL_LIBS})
# A library without a name of its own (SONAME), such as that of the Java binding, cannot be named either: it would be loaded
# a second time, from where it was found now. The loader names it (plugin/shared/private_copy.h).
set(rocksdb_has_name OFF)
if(rocksdb_library MATCHES "\\.so")
  execute_process(COMMAND "${CMAKE_READELF}" -d "${rocksdb_library}" OUTPUT_VARIABLE rocksdb_dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(rocksdb_dynamic MATCHES "SONAME")
    set(rocksdb_has_name ON)
  endif()
endif()
if(rocksdb_has_name)
  target_link_libraries(protean_shared PUBLIC $<BUILD_INTERFACE:rocksdb>)
  target_link_options(protean_shared PRIVATE LINKER:-z,defs)
else()
  target_sources(protean_shared PRIVATE plugin/shared/private_copy.cc)
endif()
target_link_options(protean_shared PRIVATE
  "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/plugin/shared/exports.map" LINKER:--as-needed)

# The loader is loaded before anything is known of the process: it needs nothing but the C library.
function(add_protean_loader target name)
  add_library(${target} SHARED ${ARGN} plugin/shared/load_protean.cc plugin/shared/private_copy.cc)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE "PROTEAN_SOVERSION=\"${PROJECT_VERSION_MAJOR}\"")
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden)
  target_link_options(${target} PRIVATE -nodefaultlibs LINKER:--as-needed LINKER:-z,defs)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} c)
endfunction()
add_protean_loader(protean_loader protean plugin/shared/loader.cc)
