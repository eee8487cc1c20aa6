// SPDX-License-Identifier: Apache-2.0

//! What Protean knows of an open DB, and does to it, by the C API in `plugin/protean_c.h`.
//!
//! The functions take the pointers that the `rocksdb` crate hands out: those of DBs with its feature
//! `raw-ptr` (`AsRawPtr::as_raw_ptr`), and those of column families by `AsColumnFamilyRef::inner`. A
//! null pointer stands for the default column family.

use std::ffi::{c_char, c_uchar, c_void, CStr};
use std::ptr;

use librocksdb_sys::{rocksdb_column_family_handle_t, rocksdb_readoptions_t, rocksdb_t};

use crate::Error;

/// The number of keys in a range, as far as it is known without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number of keys: a key that is in several sorted runs counts in each.
    pub count: u64,
    /// Files that had to be scanned, because their filters cannot count.
    pub files_scanned: u64,
    /// Whether `count` is certainly the number of live keys.
    pub is_exact: bool,
}

/// What a refresh may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshOptions {
    /// Only reports what would be rewritten.
    pub dry_run: bool,
    /// Maximum bytes of files to rewrite.
    pub max_bytes: u64,
    /// Maximum bytes per second to read and rewrite; 0 for no limit.
    pub bytes_per_second: u64,
    /// Maximum number of files that are rewritten at the same time.
    pub max_parallel_rewrites: u32,
}

impl Default for RefreshOptions {
    fn default() -> Self {
        RefreshOptions {
            dry_run: false,
            max_bytes: u64::MAX,
            bytes_per_second: 0,
            max_parallel_rewrites: 1,
        }
    }
}

/// What a refresh has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// The files of the column family.
    pub files: usize,
    /// Files that were rewritten or, in a dry run, would be.
    pub files_rewritten: u64,
    /// Bytes of these files, as they were.
    pub bytes_rewritten: u64,
    /// Sample queries by which it was decided.
    pub samples: u64,
}

#[repr(C)]
struct CountResult {
    _private: [u8; 0],
}
#[repr(C)]
struct CRefreshOptions {
    _private: [u8; 0],
}
#[repr(C)]
struct CRefreshResult {
    _private: [u8; 0],
}

extern "C" {
    fn protean_free(string: *mut c_void);
    fn protean_statistics_json(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    fn protean_approximate_count(
        db: *mut rocksdb_t,
        read_options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start_key: *const c_char,
        start_key_len: usize,
        limit_key: *const c_char,
        limit_key_len: usize,
        errptr: *mut *mut c_char,
    ) -> *mut CountResult;
    fn protean_count_result_count(result: *const CountResult) -> u64;
    fn protean_count_result_files_scanned(result: *const CountResult) -> u64;
    fn protean_count_result_is_exact(result: *const CountResult) -> c_uchar;
    fn protean_count_result_destroy(result: *mut CountResult);
    fn protean_refresh_options_create() -> *mut CRefreshOptions;
    fn protean_refresh_options_destroy(options: *mut CRefreshOptions);
    fn protean_refresh_options_set_dry_run(options: *mut CRefreshOptions, dry_run: c_uchar);
    fn protean_refresh_options_set_max_bytes(options: *mut CRefreshOptions, max_bytes: u64);
    fn protean_refresh_options_set_bytes_per_second(
        options: *mut CRefreshOptions,
        bytes_per_second: u64,
    );
    fn protean_refresh_options_set_max_parallel_rewrites(
        options: *mut CRefreshOptions,
        max_parallel_rewrites: u32,
    );
    fn protean_refresh_filters(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const CRefreshOptions,
        errptr: *mut *mut c_char,
    ) -> *mut CRefreshResult;
    fn protean_refresh_result_num_files(result: *const CRefreshResult) -> usize;
    fn protean_refresh_result_files_rewritten(result: *const CRefreshResult) -> u64;
    fn protean_refresh_result_bytes_rewritten(result: *const CRefreshResult) -> u64;
    fn protean_refresh_result_samples(result: *const CRefreshResult) -> u64;
    fn protean_refresh_result_destroy(result: *mut CRefreshResult);
}

/// Takes over a string of the C API.
///
/// # Safety
///
/// `string` is one that the C API has returned, and is not used any more.
unsafe fn take(string: *mut c_char) -> String {
    let text = CStr::from_ptr(string).to_string_lossy().into_owned();
    protean_free(string.cast());
    text
}

/// Takes over an error of the C API, if there is one.
///
/// # Safety
///
/// As for `take`, unless `error` is null.
unsafe fn check(error: *mut c_char) -> Result<(), Error> {
    if error.is_null() {
        return Ok(());
    }
    Err(Error {
        message: take(error),
    })
}

fn pointer(key: Option<&[u8]>) -> (*const c_char, usize) {
    key.map_or((ptr::null(), 0), |key| (key.as_ptr().cast(), key.len()))
}

/// What the filters of a column family do, as a JSON object.
///
/// # Errors
///
/// If the C API of RocksDB is not that of the version that Protean was compiled for.
///
/// # Safety
///
/// The pointers are those of an open DB and one of its column families.
pub unsafe fn statistics_json(
    db: *mut rocksdb_t,
    column_family: *mut rocksdb_column_family_handle_t,
) -> Result<String, Error> {
    let mut error = ptr::null_mut();
    let text = protean_statistics_json(db, column_family, &mut error);
    check(error)?;
    Ok(take(text))
}

/// Counts the keys from `start` on, or from the first one, that are below `limit`, if there is one,
/// without reading them.
///
/// # Errors
///
/// If the column family has another table factory than `ProteanTable`, or a read fails.
///
/// # Safety
///
/// As for [`statistics_json`].
pub unsafe fn approximate_count(
    db: *mut rocksdb_t,
    column_family: *mut rocksdb_column_family_handle_t,
    start: Option<&[u8]>,
    limit: Option<&[u8]>,
) -> Result<Count, Error> {
    let (start, start_len) = pointer(start);
    let (limit, limit_len) = pointer(limit);
    let mut error = ptr::null_mut();
    let result = protean_approximate_count(
        db,
        ptr::null(),
        column_family,
        start,
        start_len,
        limit,
        limit_len,
        &mut error,
    );
    check(error)?;
    let count = Count {
        count: protean_count_result_count(result),
        files_scanned: protean_count_result_files_scanned(result),
        is_exact: protean_count_result_is_exact(result) != 0,
    };
    protean_count_result_destroy(result);
    Ok(count)
}

/// Rewrites the files of a column family whose filters should be redesigned.
///
/// # Errors
///
/// What `RefreshFilters` in `plugin/refresh_filters.h` returns.
///
/// # Safety
///
/// As for [`statistics_json`].
pub unsafe fn refresh_filters(
    db: *mut rocksdb_t,
    column_family: *mut rocksdb_column_family_handle_t,
    options: &RefreshOptions,
) -> Result<Refreshed, Error> {
    let set = protean_refresh_options_create();
    protean_refresh_options_set_dry_run(set, c_uchar::from(options.dry_run));
    protean_refresh_options_set_max_bytes(set, options.max_bytes);
    protean_refresh_options_set_bytes_per_second(set, options.bytes_per_second);
    protean_refresh_options_set_max_parallel_rewrites(set, options.max_parallel_rewrites);
    let mut error = ptr::null_mut();
    let result = protean_refresh_filters(db, column_family, set, &mut error);
    protean_refresh_options_destroy(set);
    let refreshed = Refreshed {
        files: protean_refresh_result_num_files(result),
        files_rewritten: protean_refresh_result_files_rewritten(result),
        bytes_rewritten: protean_refresh_result_bytes_rewritten(result),
        samples: protean_refresh_result_samples(result),
    };
    protean_refresh_result_destroy(result);
    check(error)?;
    Ok(refreshed)
}
