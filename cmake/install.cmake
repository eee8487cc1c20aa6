# SPDX-License-Identifier: Apache-2.0

# cmake --install: the libraries, the headers, the command, and what find_package and pkg-config need.
#
# A component each for what is run, what is compiled with, and the command: runtime, development, tools.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS protean_shared EXPORT protean LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime
  NAMELINK_COMPONENT development)
install(TARGETS protean_loader LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime
  NAMELINK_COMPONENT development)
set_target_properties(protean PROPERTIES EXPORT_NAME static)
install(TARGETS protean EXPORT protean ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(TARGETS protean_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
if(HELP2MAN)
  install(DIRECTORY "${manual}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT tools)
endif()
install(FILES tools/completion.bash RENAME protean DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  COMPONENT tools)

# Where RocksDB's own builds install the headers of the plugin.
install(FILES ${public_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rocksdb/plugin/protean" COMPONENT development)
target_include_directories(protean PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_include_directories(protean_shared PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(protean PUBLIC "$<INSTALL_INTERFACE:protean::rocksdb>")
target_link_libraries(protean_shared PUBLIC "$<INSTALL_INTERFACE:protean::rocksdb>")
# Linked although a program may refer to nothing in it: it registers itself.
target_link_options(protean_shared INTERFACE "LINKER:--no-as-needed")

# An application finds a shared RocksDB as any other. One that was compiled for Protean alone is found where it was left,
# unless another one of the version is named; it brings the libraries along that it needs.
if(rocksdb_library MATCHES "\\.so")
  set(protean_kind shared)
  set(protean_rocksdb_hint "")
  set(protean_rocksdb_include_hint "")
  set(protean_rocksdb_needs "")
  set(protean_pc_libs "-Wl,--push-state,--no-as-needed -lprotean-rocksdb-${protean_tag} -Wl,--pop-state -lrocksdb")
  set(protean_pc_cflags "")
else()
  set(protean_kind static)
  set(protean_rocksdb_hint "${rocksdb_library}")
  set(protean_rocksdb_include_hint "${rocksdb_source}/include")
  set(protean_rocksdb_needs "${rocksdb_libraries};Threads::Threads;${CMAKE_DL_LIBS}")
  set(protean_pc_libs "-Wl,--undefined=protean_registered -l:libprotean.a ${rocksdb_library}")
  foreach(library gflags snappy lz4 zstd bz2 z pthread ${CMAKE_DL_LIBS})
    string(APPEND protean_pc_libs " -l${library}")
  endforeach()
  set(protean_pc_cflags " -I${rocksdb_source}/include")
endif()

set(protean_cmake "${CMAKE_INSTALL_LIBDIR}/cmake/protean")
configure_package_config_file(cmake/protean-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/installed/protean-config.cmake"
  INSTALL_DESTINATION "${protean_cmake}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/installed/protean-config-version.cmake"
  COMPATIBILITY SameMajorVersion)
configure_file(cmake/protean.pc.in "${CMAKE_CURRENT_BINARY_DIR}/installed/protean.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/installed/protean-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/installed/protean-config-version.cmake"
  DESTINATION "${protean_cmake}" COMPONENT development)
install(EXPORT protean NAMESPACE protean:: FILE protean-targets.cmake DESTINATION "${protean_cmake}"
  COMPONENT development)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/installed/protean.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)
