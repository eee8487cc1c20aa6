# SPDX-License-Identifier: Apache-2.0

protean_SOURCES = plugin/protean.cc plugin/build_info.cc plugin/checked_registration.cc plugin/filter_properties.cc plugin/filter_statistics.cc plugin/filter_statistics_text.cc plugin/protean_db.cc plugin/refresh_filters.cc plugin/search_bounds.cc table/filter_trial.cc table/protean_table_factory.cc table/protean_table_iterator.cc table/protean_table_reader.cc table/range_counter.cc table/rewrite_file.cc table/rocksdb_internals/block_based_file.cc table/rocksdb_internals/column_family.cc table/rocksdb_internals/file_iterator.cc table/rocksdb_internals/self_check.cc table/rocksdb_internals/separate_file.cc table/rocksdb_internals/table_builder.cc table/filtered_file.cc table/seek/open_runs.cc table/seek/round_bounds.cc table/seek/run_search.cc table/seek/search_sampler.cc table/seek/seek_decision.cc table/seek/seek_outcomes.cc filter_policy/bounded_option.cc filter_policy/decimal.cc filter_policy/filter_block.cc filter_policy/filter_kinds.cc filter_policy/filter_properties.cc filter_policy/filter_salt.cc filter_policy/level_bits.cc filter_policy/levels_policy.cc filter_policy/protean_filter_policy.cc filter_policy/open_db/db_session.cc filter_policy/open_db/level_sums.cc filter_policy/open_db/open_families.cc filter_policy/open_db/open_file.cc filter_policy/samples/empty_queries.cc filter_policy/samples/query_file.cc filter_policy/samples/query_queue.cc filter_policy/samples/replace_file.cc filter_policy/samples/sample_store.cc filter_policy/fst/fst.cc filter_policy/fst/fst_builder.cc filter_policy/fst/fst_encoding.cc filter_policy/fst/fst_section.cc filter_policy/fst/fst_iterator.cc filter_policy/surf/surf.cc filter_policy/surf/surf_count.cc filter_policy/surf/surf_policy.cc filter_policy/amq/amq.cc filter_policy/amq/bloom.cc filter_policy/amq/ribbon.cc filter_policy/proteus/cpfpr.cc filter_policy/proteus/design_search.cc filter_policy/proteus/design_search_pairs.cc filter_policy/proteus/key_statistics.cc filter_policy/proteus/key_store.cc filter_policy/proteus/prefix_hash.cc filter_policy/proteus/prior.cc filter_policy/proteus/proteus.cc filter_policy/proteus/proteus_builder.cc filter_policy/proteus/proteus_policy.cc filter_policy/proteus/proteus_range.cc filter_policy/proteus/proteus_seek.cc filter_policy/proteus/uniform_trie.cc
protean_PUBLIC_HEADERS = plugin/build_info.h plugin/filter_properties.h plugin/filter_statistics.h plugin/protean.h plugin/protean_db.h plugin/refresh_filters.h plugin/search_bounds.h plugin/version.h
protean_FUNC = register_protean
protean_CXXFLAGS = -Iplugin/protean

# RocksDB's make would install protean_HEADERS with their folder, as rocksdb/plugin/protean/plugin/NAME.h; its CMake leaves
# the folder out. This rule gives `make install` the same include path, rocksdb/plugin/protean/NAME.h.
.PHONY: install-protean-headers
install-headers: install-protean-headers
install-protean-headers:
	install -d $(DESTDIR)$(PREFIX)/include/rocksdb/plugin/protean
	install -C -m 644 $(addprefix plugin/protean/,$(protean_PUBLIC_HEADERS)) $(DESTDIR)$(PREFIX)/include/rocksdb/plugin/protean
# RocksDB's Makefile includes this file before its own first rule, which is its default.
.DEFAULT_GOAL :=
