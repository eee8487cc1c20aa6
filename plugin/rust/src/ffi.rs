// SPDX-License-Identifier: Apache-2.0

//! The functions of the C API in `plugin/protean_c.h`, and what its strings and keys are here.

use std::ffi::{c_char, c_double, c_uchar, c_void, CStr, CString};
use std::ptr;

use librocksdb_sys::{
    rocksdb_column_family_handle_t as Family, rocksdb_options_t as Options,
    rocksdb_readoptions_t as ReadOptions, rocksdb_t as Db,
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

/// A key, a name or a path, which the function copies or does not keep.
type Text = *const c_char;
/// Where a function stores its error.
type Errptr = *mut *mut c_char;
/// Called with the progress of refreshing. Refreshing ends when it returns 0.
pub type Progress = unsafe extern "C" fn(*mut c_void, *const Record) -> c_uchar;
/// Called with the error or null, and the result of a refresh.
pub type Report = unsafe extern "C" fn(*mut c_void, *const c_char, *const Record);

extern "C" {
    pub fn protean_register(errptr: Errptr);
    pub fn protean_free(string: *mut c_void);
    pub fn protean_build_info() -> *mut c_char;
    pub fn protean_options_set_sample_group(options: *mut Options, group: Text, errptr: Errptr);

    pub fn protean_statistics_text(db: *mut Db, family: *mut Family, errptr: Errptr)
        -> *mut c_char;
    pub fn protean_statistics(db: *mut Db, family: *mut Family, errptr: Errptr) -> *mut Record;
    pub fn protean_record_get(record: *const Record, name: Text, value: *mut c_double) -> c_uchar;
    pub fn protean_record_text(record: *const Record, name: Text) -> *mut c_char;
    pub fn protean_record_name(record: *const Record, index: usize) -> *const c_char;
    pub fn protean_record_list_size(record: *const Record, list: Text) -> usize;
    pub fn protean_record_list_get(record: *const Record, list: Text, i: usize) -> *const Record;
    pub fn protean_record_json(record: *const Record) -> *mut c_char;
    pub fn protean_record_destroy(record: *mut Record);
    pub fn protean_statistics_prometheus(
        db: *mut Db,
        column_families: *const *mut Family,
        num_column_families: usize,
        errptr: Errptr,
    ) -> *mut c_char;

    pub fn protean_approximate_count(
        db: *mut Db,
        read_options: *const ReadOptions,
        family: *mut Family,
        start_key: Text,
        start_key_len: usize,
        limit_key: Text,
        limit_key_len: usize,
        errptr: Errptr,
    ) -> *mut Record;

    pub fn protean_keys_may_exist(
        db: *mut Db,
        read_options: *const ReadOptions,
        family: *mut Family,
        num_keys: usize,
        keys_list: *const Text,
        keys_list_sizes: *const usize,
        may_exist: *mut c_uchar,
        errptr: Errptr,
    );
    pub fn protean_ranges_may_exist(
        db: *mut Db,
        read_options: *const ReadOptions,
        family: *mut Family,
        num_ranges: usize,
        range_start_key: *const Text,
        range_start_key_len: *const usize,
        range_limit_key: *const Text,
        range_limit_key_len: *const usize,
        may_exist: *mut c_uchar,
        errptr: Errptr,
    );
    pub fn protean_sst_file_filter_open(
        options: *mut Options,
        path: Text,
        errptr: Errptr,
    ) -> *mut SstFileFilter;
    pub fn protean_sst_file_filter_key_may_exist(
        filter: *const SstFileFilter,
        key: Text,
        key_len: usize,
    ) -> c_uchar;
    pub fn protean_sst_file_filter_range_may_exist(
        filter: *const SstFileFilter,
        start_key: Text,
        start_key_len: usize,
        limit_key: Text,
        limit_key_len: usize,
    ) -> c_uchar;
    pub fn protean_sst_file_filter_destroy(filter: *mut SstFileFilter);

    pub fn protean_search_bounds_scope_create(
        lower_key: Text,
        lower_key_len: usize,
        upper_key: Text,
        upper_key_len: usize,
    ) -> *mut SearchBoundsScope;
    pub fn protean_search_bounds_scope_destroy(scope: *mut SearchBoundsScope);

    pub fn protean_refresh_options_create() -> *mut RefreshOptions;
    pub fn protean_refresh_options_destroy(options: *mut RefreshOptions);
    pub fn protean_refresh_options_set(
        options: *mut RefreshOptions,
        name: Text,
        value: Text,
        errptr: Errptr,
    );
    pub fn protean_refresh_options_parse(options: *mut RefreshOptions, text: Text, errptr: Errptr);
    pub fn protean_refresh_options_text(options: *const RefreshOptions) -> *mut c_char;
    pub fn protean_refresh_options_set_progress(
        options: *mut RefreshOptions,
        state: *mut c_void,
        progress: Progress,
    );
    pub fn protean_refresh_filters(
        db: *mut Db,
        family: *mut Family,
        options: *const RefreshOptions,
        errptr: Errptr,
    ) -> *mut Record;
    pub fn protean_filter_refresher_create(
        db: *mut Db,
        family: *mut Family,
        options: *const RefreshOptions,
        period_seconds: u64,
        socket: Text,
        state: *mut c_void,
        report: Report,
        errptr: Errptr,
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
pub unsafe fn attempt<T>(call: impl FnOnce(Errptr) -> T) -> Result<T, Error> {
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
