# SPDX-License-Identifier: Apache-2.0

# Included with -DPROTEAN_SYNTAX_ONLY=ON. The build then shows that all programs and tests compile with a RocksDB of which
# only the source tree is there: the compiler checks each file and generates no code, and libraries and programs are empty.
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "sh \"${CMAKE_CURRENT_SOURCE_DIR}/cmake/syntax_only.sh\"")
foreach(rule CREATE_STATIC_LIBRARY CREATE_SHARED_LIBRARY LINK_EXECUTABLE)
  set(CMAKE_CXX_${rule} "\"${CMAKE_COMMAND}\" -E touch <TARGET>")
endforeach()
