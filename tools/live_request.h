// SPDX-License-Identifier: Apache-2.0

//  Asks a process that has the DB open (plugin/request_server.h).

#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "tools/command.h"

namespace ROCKSDB_NAMESPACE::protean {

// The flags of commands that can ask.
struct LiveFlags {
  void AddFlags(Arguments* arguments);

  bool live = false;
  std::string socket;  // its path; empty for that in the DB's folder
};

// Called several times a second, with how far the refresh of a column family is
// if that is news, else nullptr: with the JSON of a RefreshProgress, and the
// "seconds" so far. Returns false if the refresh is to end.
using Watch = std::function<bool(const Json* progress)>;

// Asks for `request`, such as "POST /refresh", of the column family that the
// target's flags name, or all of them, with these parameters, and stores the
// body of the answer, or its last line if it is about progress. When `watch`
// returns false, or on Ctrl-C if it is nullptr, the process is told to end the
// refresh after the current file, and its answer is waited for.
//
// Returns InvalidArgument with the process's words if it refuses; Aborted if it
// failed, ended meanwhile, or takes no more requests; Incomplete if `watch`
// returned false, unless a refresh has ended with a result; NotFound or IOError
// if there is no such process, or none that this user may ask; and NotSupported
// if the request or the socket's path is too long.
using LiveParameters = std::unordered_map<std::string, std::string>;
Status AskLive(const Target& target, const LiveFlags& flags,
               const std::string& request, LiveParameters parameters,
               const Watch& watch, std::string* body);

}  // namespace ROCKSDB_NAMESPACE::protean
