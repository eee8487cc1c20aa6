# SPDX-License-Identifier: Apache-2.0

# compile_in_groups(TARGET [TESTS | PROGRAMS] FILE...): a compiler run takes several files of a target, up to a dozen and a half,
# but none that would disturb each other. Files of different calls do not come together. Tests use short names, which headers
# have, too: the names in their headers count, and up to eight tests come together. Of PROGRAMS, any number of files do.
find_program(AWK awk REQUIRED)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/unity_groups.awk)
function(compile_in_groups target)
  cmake_parse_arguments(PARSE_ARGV 1 group "TESTS;PROGRAMS" "" "")
  set(files ${group_UNPARSED_ARGUMENTS})
  if(group_TESTS)
    set(limits -v most=8 -v headers=1)
  elseif(group_PROGRAMS)
    set(limits -v headers=1)
  else()
    set(limits -v most=18)
  endif()
  execute_process(COMMAND "${AWK}" ${limits} -f cmake/unity_groups.awk ${files}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET files 0 first)
  string(MAKE_C_IDENTIFIER "${first}" name)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
    set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${name}_${CMAKE_MATCH_1}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
