// SPDX-License-Identifier: Apache-2.0

//  Answers requests from outside the process about the column families of a DB
//  that have a FilterRefresher (refresh_filters.h), if the application has
//  named a socket: HTTP over a Unix-domain socket, one answer for each
//  connection. docs/operating.md lists the requests.
//
//  The file of the socket never has another mode than 0600. A refresh runs in
//  its FilterRefresher's thread, which answers it, so other requests are
//  answered meanwhile.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores the options that the application, `own`, and the one who asks both
// allow, without a progress function: of two limits, the stricter one; of two
// sets of files, those in both. All files are rewritten if either wants it; a
// dry run is one if either wants it. `order` is that of the column family.
// Returns InvalidArgument, which says what the application allows, if no level
// or no key is in both.
Status LimitRefresh(const RefreshOptions& own, const RefreshOptions& asked,
                    const Comparator& order, RefreshOptions* limited);

// What a FilterRefresher does for the server.
struct ServedFamily {
  ColumnFamilyHandle* column_family;
  // The options of the application, whose limits hold for all who ask.
  RefreshOptions options;
  // Begins a refresh in another thread, which calls `ended` in any case.
  // Returns false, and begins nothing, if a refresh is running. Thread safe.
  std::function<bool(const RefreshOptions& options,
                     const FilterRefresher::Report& ended)>
      begin;
};

// A socket that is bound to the path, which fits into a sockaddr_un, or
// connected to it. -1 and errno if that fails: EAGAIN after a second if the
// process at the path accepts no more connections.
int OpenSocket(const std::string& path, bool connects);

class RequestServer;

// Serves the family at the socket with this path, together with all others of
// the DB that have named it. Returns InvalidArgument if the path is too long,
// Busy if another process or another DB is served there, or IOError. Logs what
// has come of it. Thread safe.
Status Serve(DB* db, const std::string& path, const ServedFamily* family,
             std::shared_ptr<RequestServer>* server);
// Must be called before the family is destroyed, after its refreshes have
// ended. The last one ends the thread, and deletes the socket. Thread safe.
void EndServing(const ServedFamily* family,
                std::shared_ptr<RequestServer>* server);

}  // namespace ROCKSDB_NAMESPACE::protean
