// SPDX-License-Identifier: Apache-2.0

//  Composite keys and time-ordered ids, and the ranges that applications ask
//  for over them. The kinds of keys, by their names in --key_type:
//
//    user_window  user:004711|2026-01-01T12:34:56.789Z, 10,000 users
//    sensor_time  site-7/sensor-112/1767270896789, of 40 sites with up to 300
//                 sensors each; milliseconds
//    device_time  a device and nanoseconds, two binary numbers of 64 bits;
//                 10,000 devices
//    log_time     2026-01-01 12:34:56,789 host-042 000123, 100 hosts
//    uuid1        UUIDs of version 1 of 8 nodes, as text
//    uuid6, uuid7 UUIDs of versions 6 and 7, as text
//    uuid7_bytes  UUIDs of version 7, 16 bytes
//    ulid         ULIDs, 26 characters of base32
//    host_time    web-12.us-east-1.example.com 2026-01-01 12:34:56,789, 3,000
//                 hosts
//    session      orders-7f3a9c01-1767270896789-12: 20,000 sessions, ms, a
//                 sequence number
//    tenant_time  20 bits of a tenant and 44 of ms in one number; 5,000 tenants
//    edge         a node, a label of 16 bits and a node: 18 bytes
//    edge_text    n71271/follows/n123
//    package      @scope/word-word or word-word
//    project      paths of files in projects of users
//    order        tenant|kind|id: acme-12|order|7Q4MdVx0Zk2P, 200 tenants with
//                 up to 12 kinds each; the id is base64
//
//  Times are spread evenly over the 30 days from 2026-01-01 on. The ranges of
//  keys with times are windows that start anywhere in these days. Each order of
//  magnitude of their lengths is equally likely, between these unless
//  --window_ms says otherwise:
//
//    user_window                          one entity, 1 minute to 1 day
//    session                              one entity, 1 s to 1 hour
//    sensor_time, device_time, host_time,
//    tenant_time                          one entity, 1 s to 1 day
//    log_time, uuid6, uuid7, ulid         all keys, 1 to 500 ms
//    uuid1                                all keys, 100 ns to 2 us of the low
//                                         32 bits of the time, which lead
//
//  The ranges of edges are all of one node and label, those of packages all of
//  one scope or first word. The ranges of paths and orders are [x, x with its
//  last byte + 1].

#pragma once

#include "db_bench_ext/key_type.h"

namespace ROCKSDB_NAMESPACE::protean {

// Keys of one type, which has fields. The windows have these lengths, or the
// usual ones.
KeySource FieldSourceOf(KeyType type, const WindowLengths& lengths);

}  // namespace ROCKSDB_NAMESPACE::protean
