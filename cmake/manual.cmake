# SPDX-License-Identifier: Apache-2.0

# Writes the manual pages of protean and its commands, and the completion for bash, as the command itself prints them:
#
#   cmake -DPROTEAN=COMMAND -DOUTPUT=FOLDER -P manual.cmake
#
# If an emulator has to run the command, COMMAND is a list: the emulator and the command. FOLDER/man1 gets the pages, compressed
# where there is gzip, FOLDER/completions the completion.

find_program(GZIP gzip)
file(REMOVE_RECURSE "${OUTPUT}/man1")
file(MAKE_DIRECTORY "${OUTPUT}/man1" "${OUTPUT}/completions")

execute_process(COMMAND ${PROTEAN} help --commands OUTPUT_VARIABLE commands OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" commands "${commands}")
foreach(command IN LISTS commands ITEMS "")
  if(command STREQUAL "")
    set(page "${OUTPUT}/man1/protean.1")
  else()
    set(page "${OUTPUT}/man1/protean-${command}.1")
  endif()
  execute_process(COMMAND ${PROTEAN} help ${command} --man OUTPUT_FILE "${page}" COMMAND_ERROR_IS_FATAL ANY)
  if(GZIP)
    execute_process(COMMAND "${GZIP}" -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
execute_process(COMMAND ${PROTEAN} help --bash_completion OUTPUT_FILE "${OUTPUT}/completions/protean"
  COMMAND_ERROR_IS_FATAL ANY)
