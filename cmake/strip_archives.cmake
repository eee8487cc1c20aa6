# SPDX-License-Identifier: Apache-2.0

# Run by cpack before it makes packages: takes the debug information out of static libraries, as it does itself with all else.
file(GLOB_RECURSE archives "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a")
foreach(archive IN LISTS archives)
  execute_process(COMMAND "${CPACK_PROTEAN_STRIP}" --strip-debug --remove-section=.comment "${archive}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
