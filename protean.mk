protean_SOURCES = plugin/protean.cc table/protean_table_factory.cc table/protean_table_iterator.cc table/protean_table_reader.cc filter_policy/bounded_option.cc filter_policy/filter_block.cc filter_policy/filter_kinds.cc filter_policy/protean_filter_policy.cc filter_policy/samples/query_file.cc filter_policy/samples/query_queue.cc filter_policy/samples/sample_store.cc filter_policy/fst/fst.cc filter_policy/fst/fst_builder.cc filter_policy/fst/fst_encoding.cc filter_policy/fst/fst_section.cc filter_policy/fst/fst_iterator.cc filter_policy/surf/surf.cc filter_policy/surf/surf_count.cc filter_policy/surf/surf_policy.cc
protean_HEADERS = plugin/protean.h
protean_FUNC = register_protean
protean_CXXFLAGS = -Iplugin/protean
