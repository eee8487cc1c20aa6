// SPDX-License-Identifier: Apache-2.0

//  Work in a process of its own, whose memory and processor time are then those
//  of the work alone.

#pragma once

#include <functional>
#include <string>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Runs `work` in a child of this process, and hands over the text that it made.
// Aborted, with the reason, if it fails or if the child ends early. This
// process must not have started any thread.
Status RunInChild(const std::function<Status(std::string* text)>& work,
                  std::string* text);

}  // namespace ROCKSDB_NAMESPACE::protean
