// SPDX-License-Identifier: Apache-2.0

//  Asks a process that has the DB open (plugin/live_protocol.h).

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugin/live_protocol.h"
#include "rocksdb/status.h"
#include "tools/command.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// The flags of commands that can ask.
class LiveFlags {
 public:
  void AddFlags(Arguments* arguments);

  bool live() const { return live_; }
  uint64_t timeout_seconds() const { return timeout_seconds_; }

 private:
  bool live_ = false;
  uint64_t timeout_seconds_ = 10;
};

// Sends the request to the process that has the target's DB open, and waits for
// the answer whose state is not kRunning. The request gets an id and a time
// here. `watch` is called now and then, with the answer so far if there is one;
// when it returns false, the request is withdrawn, or the refresh is told to
// end after the current file, and its answer is waited for.
//
// Returns TimedOut if nothing takes the request within the time of `flags`;
// Busy if another request waits all that time; Incomplete if the request was
// withdrawn because `watch` returned false; and IOError or Corruption if the
// files cannot be written or read. A request that was not taken has been
// deleted then, unless the message says otherwise.
Status AskLive(const Target& target, const LiveFlags& flags,
               LiveRequest request,
               const std::function<bool(const LiveAnswer*)>& watch,
               LiveAnswer* answer);

// OK if the answer's state is kDone; otherwise, an error with its message.
Status StatusOf(const LiveAnswer& answer);

}  // namespace ROCKSDB_NAMESPACE::protean
