# SPDX-License-Identifier: Apache-2.0

# cpack -G DEB: the packages libprotean, libprotean-dev and protean-tools, for the RocksDB of the distribution. Where that is
# another version, protean-tools alone, with RocksDB in it. Made by scripts/debian_packages.sh, which configures the build for
# /usr.

set(PROTEAN_PACKAGE_CONTACT "Protean developers <protean@packages.debian.org>" CACHE STRING "Who maintains the packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME protean)
# Each package has its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "${PROTEAN_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/packages")
if(PROTEAN_FOUND_SHARED_ROCKSDB)
  set(CPACK_COMPONENTS_ALL runtime development tools)
  set(bundled_copyright "")
else()
  set(CPACK_COMPONENTS_ALL tools)
  set(bundled_copyright "
Files: usr/bin/protean
Copyright: 2011-present Facebook, Inc. and the other authors of RocksDB, which is linked in
License: Apache-2.0
")
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROTEAN_STRIP "${CMAKE_STRIP}")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING)
  # CPack would take the CPU that it runs on.
  find_program(DPKG_ARCHITECTURE dpkg-architecture)
  if(DPKG_ARCHITECTURE)
    execute_process(COMMAND "${DPKG_ARCHITECTURE}" "-t${CMAKE_LIBRARY_ARCHITECTURE}" -f -q DEB_HOST_ARCH
      OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
# A version that follows a hyphen precedes the release. Packages of two distributions have two names.
string(REPLACE "-" "~" CPACK_PACKAGE_VERSION "${protean_full_version}")
file(STRINGS /etc/os-release distribution REGEX "^(VERSION_)?ID=")
list(TRANSFORM distribution REPLACE "^[A-Z_]+=|\"" "")
list(SORT distribution COMPARE NATURAL ORDER DESCENDING)
list(JOIN distribution "" distribution)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${distribution}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/cmake/strip_archives.cmake")

# The versions of the distribution's package that are this RocksDB.
string(REGEX REPLACE "\\.[0-9]+$" "" rocksdb_series "${rocksdb_version}")
string(REGEX MATCH "[0-9]+$" rocksdb_minor "${rocksdb_series}")
string(REGEX MATCH "^[0-9]+" rocksdb_major "${rocksdb_series}")
math(EXPR rocksdb_next_minor "${rocksdb_minor} + 1")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libprotean)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian/triggers")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "range filters for RocksDB
RocksDB skips files on point reads with Bloom filters, but a seek has to
open every level, even where nothing lies in the range. Protean gives every
SST file a range filter, SuRF or Proteus, which seeks ask first.

Programs that use the distribution's RocksDB get it without being changed:
libprotean.so.1 is preloaded, and an OPTIONS file or an options string selects
the table factory ProteanTable.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libprotean-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "librocksdb-dev (>= ${rocksdb_series}), librocksdb-dev (<< ${rocksdb_major}.${rocksdb_next_minor}~)")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "range filters for RocksDB (development files)
Protean gives every SST file of a RocksDB a range filter, SuRF or Proteus,
which seeks ask before they read anything.

This package has the headers, the static library, and the files for CMake's
find_package and for pkg-config.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME protean-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "range filters for RocksDB (operator's command)
Protean gives every SST file of a RocksDB a range filter, SuRF or Proteus,
which seeks ask before they read anything.

The command protean shows which filter each file has and what it is worth,
measures with a database's own queries which filters it should have, and
finds what is wrong, all beside a running process; with the database closed,
it mends that.")

# What each package says of itself, and its changes.
set(debian "${CMAKE_CURRENT_BINARY_DIR}/debian")
configure_file(cmake/debian/changelog.in "${debian}/changelog" @ONLY)
configure_file(cmake/debian/copyright.in "${debian}/copyright" @ONLY)
find_program(GZIP gzip)
if(GZIP)
  execute_process(COMMAND "${GZIP}" -9nc "${debian}/changelog" OUTPUT_FILE "${debian}/changelog.Debian.gz")
  foreach(component RUNTIME DEVELOPMENT TOOLS)
    string(TOLOWER ${component} name)
    install(FILES "${debian}/copyright" "${debian}/changelog.Debian.gz"
      DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME}" COMPONENT ${name}
      EXCLUDE_FROM_ALL)
  endforeach()
endif()

include(CPack)
