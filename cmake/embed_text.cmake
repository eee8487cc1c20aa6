# SPDX-License-Identifier: Apache-2.0

# Writes the text file INPUT as a C++ string literal to the file OUTPUT, which is included where a string is expected.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "R\"text(${text})text\"\n")
