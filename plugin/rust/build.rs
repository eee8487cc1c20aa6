// SPDX-License-Identifier: Apache-2.0

//! Compiles Protean against the RocksDB that librocksdb-sys has compiled: with its headers, and
//! with those of its flags on which classes and inline functions of RocksDB depend.
//!
//! The compressions that RocksDB has been compiled with are not among them, nor are jemalloc and
//! io_uring: nothing that Protean uses of RocksDB depends on them. `nm` of the archive shows it: even
//! without optimization it has no inline function with their names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The definitions of librocksdb-sys in its build.rs, for Linux.
const DEFINITIONS: &[(&str, Option<&str>)] = &[
    ("NDEBUG", Some("1")),
    ("HAVE_ALIGNED_NEW", None),
    ("HAVE_UINT128_EXTENSION", None),
    ("OS_LINUX", None),
    ("ROCKSDB_PLATFORM_POSIX", None),
    ("ROCKSDB_LIB_IO_POSIX", None),
    ("ROCKSDB_SCHED_GETCPU_PRESENT", None),
    ("ROCKSDB_AUXV_GETAUXVAL_PRESENT", None),
    ("ROCKSDB_FALLOCATE_PRESENT", None),
    ("ROCKSDB_RANGESYNC_PRESENT", None),
];

/// Target features and the flags of the compiler for them; so does librocksdb-sys.
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("sse2", "-msse2"),
    ("sse4.1", "-msse4.1"),
    ("sse4.2", "-msse4.2"),
    ("avx2", "-mavx2"),
    ("bmi1", "-mbmi"),
    ("lzcnt", "-mlzcnt"),
    ("pclmulqdq", "-mpclmul"),
];

fn main() {
    if let Err(reason) = build() {
        eprintln!("protean-rocksdb: {reason}");
        process::exit(1);
    }
}

fn build() -> Result<(), String> {
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Err("Protean runs on Linux".into());
    }
    let rocksdb = rocksdb_source()?;
    let protean = protean_source()?;

    let mut config = cc::Build::new();
    config.cpp(true).warnings(false).flag(cxx_standard());
    // librocksdb-sys has this of cstdint, too.
    config.flag("-include").flag("cstdint");
    // Protean's folders are named as those of RocksDB, but their files are not.
    config.include(&protean);
    config.include(rocksdb.join("include"));
    config.include(&rocksdb);
    for (name, value) in DEFINITIONS {
        config.define(name, *value);
    }
    let target_features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let target_features: BTreeSet<_> = target_features.split(',').collect();
    for (feature, flag) in INSTRUCTIONS {
        if target_features.contains(feature) {
            config.flag_if_supported(flag);
        }
    }
    if env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref() != Ok("64") {
        config.define("_FILE_OFFSET_BITS", "64");
        config.define("_LARGEFILE64_SOURCE", "1");
    }

    let sources = protean_sources(&protean)?;
    config.files(&sources);
    watch(&protean, sources)?;
    config.try_compile("protean").map_err(|e| e.to_string())
}

/// The sources of the RocksDB that is linked. librocksdb-sys says where it is; that it has compiled
/// these sources is to be seen from the archive, which there is not if it was told to link another
/// RocksDB.
fn rocksdb_source() -> Result<PathBuf, String> {
    let said = |name: &str| {
        env::var_os(name).map(PathBuf::from).ok_or_else(|| {
            format!(
                "this version of librocksdb-sys does not say where RocksDB is ({name} is missing)"
            )
        })
    };
    let source = said("DEP_ROCKSDB_CARGO_MANIFEST_DIR")?.join("rocksdb");
    let archive = said("DEP_ROCKSDB_OUT_DIR")?.join("librocksdb.a");
    if !archive.is_file() {
        return Err(
            "librocksdb-sys has not compiled RocksDB but links another one \
            (ROCKSDB_LIB_DIR); Protean is compiled for RocksDB's own sources only. To a shared \
            RocksDB, libprotean.so can be bound: docs/install.md"
                .into(),
        );
    }
    let header = source.join("table/block_based/block_based_table_reader.h");
    if !header.is_file() {
        return Err(format!(
            "RocksDB's sources are incomplete: there is no {}",
            header.display()
        ));
    }
    Ok(source)
}

/// Protean's sources: beside this crate in a package, otherwise the repository that it is part of.
fn protean_source() -> Result<PathBuf, String> {
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    [crate_dir.join("protean"), crate_dir.join("../..")]
        .into_iter()
        .find(|folder| folder.join("protean.mk").is_file())
        .ok_or_else(|| {
            format!(
                "Protean's sources are neither in {0}/protean nor in {0}/../..",
                crate_dir.display()
            )
        })
}

/// The list of protean.mk, from which RocksDB's make builds Protean, too.
fn protean_sources(protean: &Path) -> Result<Vec<PathBuf>, String> {
    let list = protean.join("protean.mk");
    println!("cargo:rerun-if-changed={}", list.display());
    let text = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let names = text
        .lines()
        .find_map(|line| line.strip_prefix("protean_SOURCES = "))
        .ok_or_else(|| format!("there is no protean_SOURCES in {}", list.display()))?;
    Ok(names
        .split_whitespace()
        .map(|name| protean.join(name))
        .collect())
}

/// Has cargo compile again when a source or a header changes. This crate's own folder lies in the
/// folder plugin, with all that is built there, so that one is not named as a whole.
fn watch(protean: &Path, sources: Vec<PathBuf>) -> Result<(), String> {
    let plugin = protean.join("plugin");
    let entries = fs::read_dir(&plugin).map_err(|e| format!("{}: {e}", plugin.display()))?;
    let headers = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "h"));
    let folders = ["filter_policy", "table"].map(|name| protean.join(name));
    let build = [PathBuf::from("build.rs")];
    for path in headers.chain(build).chain(folders).chain(sources) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    Ok(())
}

/// Chooses the C++ standard as librocksdb-sys does.
fn cxx_standard() -> String {
    println!("cargo:rerun-if-env-changed=ROCKSDB_CXX_STD");
    let standard = env::var("ROCKSDB_CXX_STD").unwrap_or_else(|_| "c++20".into());
    if standard.starts_with("-std=") {
        standard
    } else {
        format!("-std={standard}")
    }
}
