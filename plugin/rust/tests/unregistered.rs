// SPDX-License-Identifier: Apache-2.0

//! What RocksDB does with ProteanTable in a program that has not called `register`: it takes the
//! options, and opens no DB with them.

use rocksdb::{Options, DB};

#[test]
fn no_db_is_opened_without_register() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("unregistered");
    let _ = std::fs::remove_dir_all(&folder);
    let text = "create_if_missing=true;table_factory={id=ProteanTable;filter_policy=proteus}";
    let refused = |options: Options| DB::open(&options, &folder).err().map(|e| e.to_string());
    let before = Options::default()
        .get_options_from_string(text)
        .map(refused);
    assert!(!matches!(before, Ok(None)), "{before:?}");

    protean_rocksdb::register().unwrap();
    let after = Options::default()
        .get_options_from_string(text)
        .map(refused);
    assert_eq!(after, Ok(None));
}
