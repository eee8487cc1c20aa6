# SPDX-License-Identifier: Apache-2.0

# Has help2man write the manual pages of protean and its commands from their --help:
#
#   cmake -DPROTEAN=COMMAND -DHELP2MAN=PROGRAM -DVERSION=VERSION -DOUTPUT=FOLDER -P manual.cmake
#
# If an emulator has to run the command, COMMAND is a list: the emulator and the command. FOLDER/man1 gets the pages, compressed
# where there is gzip.

cmake_policy(VERSION 3.19)
list(REMOVE_ITEM PROTEAN "")
find_program(GZIP gzip)
file(REMOVE_RECURSE "${OUTPUT}/man1" "${OUTPUT}/bin")
file(MAKE_DIRECTORY "${OUTPUT}/man1" "${OUTPUT}/bin")

execute_process(COMMAND ${PROTEAN} --help OUTPUT_VARIABLE usage COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+  +[^\n]*" commands "${usage}")
foreach(command IN LISTS commands ITEMS "")
  if(command STREQUAL "")
    set(page protean)
    set(summary "range filters of a RocksDB")
    set(name "")
  else()
    string(REGEX REPLACE "\n  ([a-z]+)  +.*" "\\1" name "${command}")
    string(REGEX REPLACE "\n  [a-z]+  +(.*)" "\\1" summary "${command}")
    set(page protean-${name})
  endif()
  # help2man names a page after the program that it asks.
  list(JOIN PROTEAN "' '" words)
  file(WRITE "${OUTPUT}/bin/${page}" "#!/bin/sh\nexec '${words}' ${name} \"$@\"\n")
  file(CHMOD "${OUTPUT}/bin/${page}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND "${HELP2MAN}" --no-info --section=1 "--name=${summary}" "--version-string=${VERSION}"
      --source=Protean "--manual=Protean" "--output=${OUTPUT}/man1/${page}.1" "${OUTPUT}/bin/${page}"
    COMMAND_ERROR_IS_FATAL ANY)
  if(GZIP)
    execute_process(COMMAND "${GZIP}" -9n "${OUTPUT}/man1/${page}.1" COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
file(TOUCH "${OUTPUT}/made")
