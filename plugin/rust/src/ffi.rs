// SPDX-License-Identifier: Apache-2.0

//! The functions of the C API in `plugin/protean_c.h`, and what its strings and keys are here.

use std::ffi::{c_char, c_double, c_uchar, c_void, CStr, CString};
use std::ptr;

use librocksdb_sys::{
    rocksdb_column_family_handle_t, rocksdb_options_t, rocksdb_readoptions_t, rocksdb_t,
};

use crate::Error;

/// Declares the types that C code alone looks into.
macro_rules! opaque {
    ($($name:ident),*) => {
        $(
            #[repr(C)]
            pub struct $name {
                _private: [u8; 0],
            }
        )*
    };
}

opaque!(
    Record,
    RefreshOptions,
    FilterRefresher,
    SearchBoundsScope,
    SstFileFilter
);

/// Called with the progress of refreshing. Refreshing ends when it returns 0.
pub type Progress = unsafe extern "C" fn(*mut c_void, *const Record) -> c_uchar;
/// Called with the error or null, and the result of a refresh.
pub type Report = unsafe extern "C" fn(*mut c_void, *const c_char, *const Record);

extern "C" {
    pub fn protean_register(errptr: *mut *mut c_char);
    pub fn protean_free(string: *mut c_void);
    pub fn protean_build_info() -> *mut c_char;
    pub fn protean_options_set_sample_group(
        options: *mut rocksdb_options_t,
        sample_group: *const c_char,
        errptr: *mut *mut c_char,
    );

    pub fn protean_statistics_text(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn protean_statistics(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut Record;
    pub fn protean_record_get(
        record: *const Record,
        name: *const c_char,
        value: *mut c_double,
    ) -> c_uchar;
    pub fn protean_record_text(record: *const Record, name: *const c_char) -> *mut c_char;
    pub fn protean_record_name(record: *const Record, index: usize) -> *const c_char;
    pub fn protean_record_list_size(record: *const Record, list: *const c_char) -> usize;
    pub fn protean_record_list_get(
        record: *const Record,
        list: *const c_char,
        index: usize,
    ) -> *const Record;
    pub fn protean_record_json(record: *const Record) -> *mut c_char;
    pub fn protean_record_destroy(record: *mut Record);
    pub fn protean_statistics_prometheus(
        db: *mut rocksdb_t,
        column_families: *const *mut rocksdb_column_family_handle_t,
        num_column_families: usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char;

    pub fn protean_approximate_count(
        db: *mut rocksdb_t,
        read_options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start_key: *const c_char,
        start_key_len: usize,
        limit_key: *const c_char,
        limit_key_len: usize,
        errptr: *mut *mut c_char,
    ) -> *mut Record;

    pub fn protean_keys_may_exist(
        db: *mut rocksdb_t,
        read_options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        num_keys: usize,
        keys_list: *const *const c_char,
        keys_list_sizes: *const usize,
        may_exist: *mut c_uchar,
        errptr: *mut *mut c_char,
    );
    pub fn protean_ranges_may_exist(
        db: *mut rocksdb_t,
        read_options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        num_ranges: usize,
        range_start_key: *const *const c_char,
        range_start_key_len: *const usize,
        range_limit_key: *const *const c_char,
        range_limit_key_len: *const usize,
        may_exist: *mut c_uchar,
        errptr: *mut *mut c_char,
    );
    pub fn protean_sst_file_filter_open(
        options: *mut rocksdb_options_t,
        path: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut SstFileFilter;
    pub fn protean_sst_file_filter_key_may_exist(
        filter: *const SstFileFilter,
        key: *const c_char,
        key_len: usize,
    ) -> c_uchar;
    pub fn protean_sst_file_filter_range_may_exist(
        filter: *const SstFileFilter,
        start_key: *const c_char,
        start_key_len: usize,
        limit_key: *const c_char,
        limit_key_len: usize,
    ) -> c_uchar;
    pub fn protean_sst_file_filter_destroy(filter: *mut SstFileFilter);

    pub fn protean_search_bounds_scope_create(
        lower_key: *const c_char,
        lower_key_len: usize,
        upper_key: *const c_char,
        upper_key_len: usize,
    ) -> *mut SearchBoundsScope;
    pub fn protean_search_bounds_scope_destroy(scope: *mut SearchBoundsScope);

    pub fn protean_refresh_options_create() -> *mut RefreshOptions;
    pub fn protean_refresh_options_destroy(options: *mut RefreshOptions);
    pub fn protean_refresh_options_set(
        options: *mut RefreshOptions,
        name: *const c_char,
        value: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn protean_refresh_options_parse(
        options: *mut RefreshOptions,
        text: *const c_char,
        errptr: *mut *mut c_char,
    );
    pub fn protean_refresh_options_text(options: *const RefreshOptions) -> *mut c_char;
    pub fn protean_refresh_options_set_progress(
        options: *mut RefreshOptions,
        state: *mut c_void,
        progress: Progress,
    );
    pub fn protean_refresh_filters(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const RefreshOptions,
        errptr: *mut *mut c_char,
    ) -> *mut Record;
    pub fn protean_filter_refresher_create(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const RefreshOptions,
        period_seconds: u64,
        socket: *const c_char,
        state: *mut c_void,
        report: Report,
        errptr: *mut *mut c_char,
    ) -> *mut FilterRefresher;
    pub fn protean_filter_refresher_destroy(refresher: *mut FilterRefresher);
}

/// A string of C as text. Bytes that are not UTF-8 are replaced.
///
/// # Safety
///
/// `string` is a string that ends with 0.
pub unsafe fn text(string: *const c_char) -> String {
    CStr::from_ptr(string).to_string_lossy().into_owned()
}

/// Takes over a string of the C API.
///
/// # Safety
///
/// `string` is one that the C API has returned, and is not used any more.
pub unsafe fn take(string: *mut c_char) -> String {
    let taken = text(string);
    protean_free(string.cast());
    taken
}

/// Calls a function with the place for its error, which is returned if there is one.
///
/// # Safety
///
/// `call` passes its argument to a function of the C API, and nothing else.
pub unsafe fn attempt<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T, Error> {
    let mut error = ptr::null_mut();
    let value = call(&mut error);
    if error.is_null() {
        Ok(value)
    } else {
        Err(Error::new(take(error)))
    }
}

/// A key, or null for none, and its length.
pub fn pointer(key: Option<&[u8]>) -> (*const c_char, usize) {
    key.map_or((ptr::null(), 0), |key| (key.as_ptr().cast(), key.len()))
}

/// A string for C.
pub fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|e| Error::new(format!("a name must not have a NUL in it: {e}")))
}
