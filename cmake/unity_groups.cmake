# SPDX-License-Identifier: Apache-2.0

# compile_in_groups(TARGET FILE...): a compiler run takes several files of a target, up to a dozen and a half, but none that
# would disturb each other. Files of different calls do not come together.
find_program(AWK awk REQUIRED)
function(compile_in_groups target)
  execute_process(COMMAND "${AWK}" -v most=18 -f cmake/unity_groups.awk ${ARGN}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET ARGN 0 first)
  string(MAKE_C_IDENTIFIER "${first}" name)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
    set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${name}_${CMAKE_MATCH_1}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
