// SPDX-License-Identifier: Apache-2.0

//  The manual pages of `protean` and of its commands, and its completion for
//  bash. They are made of what --help prints, so there is nothing else to keep
//  up to date.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/arguments.h"
#include "tools/command.h"

namespace ROCKSDB_NAMESPACE::protean {

// A command with its flags.
struct ManualEntry {
  std::unique_ptr<Command> command;
  Arguments flags;
};

// The page protean(1), in the man macros of troff. `summary` is the part of the
// help that says what the program is, and `exit_codes` the part that says what
// it ends with.
std::string ProgramPage(const std::vector<ManualEntry>& entries,
                        const std::string& summary,
                        const std::string& exit_codes);

// The page of a command, such as protean-inspect(1).
//
// The text of Command::help() is laid out by its form: empty lines separate
// paragraphs, lines that begin with two spaces are shown as they are, "Exit
// code: " begins a section, and so does a line of one word and a colon, such as
// "Examples:".
std::string CommandPage(const ManualEntry& entry);

// A script that bash sources to complete commands, flags, and the values of
// flags that take a DIR or a FILE. The lower-case words of Command::usage()
// that are separated by bars are completed, too.
std::string BashCompletion(const std::vector<ManualEntry>& entries);

}  // namespace ROCKSDB_NAMESPACE::protean
