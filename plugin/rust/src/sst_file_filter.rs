// SPDX-License-Identifier: Apache-2.0

//! What may exist in an SST file that no DB has.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use librocksdb_sys::rocksdb_options_t;

use crate::{ffi, Error};

/// The filter of one SST file that is read apart from any DB: a file of a backup, or one that is going
/// to be ingested.
#[derive(Debug)]
pub struct SstFileFilter {
    filter: *mut ffi::SstFileFilter,
}

// SAFETY: the object behind the pointer belongs to no thread.
unsafe impl Send for SstFileFilter {}
// SAFETY: its functions may be called in any threads at once.
unsafe impl Sync for SstFileFilter {}

impl SstFileFilter {
    /// Opens a file, and reads its filter and its index. A file without a filter of Protean, or with a
    /// damaged one, may hold anything.
    ///
    /// # Errors
    ///
    /// If the table factory of `options` is not `ProteanTable`, if there is no such file, or if the file is damaged.
    ///
    /// # Safety
    ///
    /// `options` are those of the file's column family, such as `Options::as_raw_ptr` of the `rocksdb` crate
    /// returns, and live until this returns.
    pub unsafe fn open(options: *mut rocksdb_options_t, path: &Path) -> Result<Self, Error> {
        let path = ffi::c_string(path.as_os_str().as_bytes())?;
        let filter =
            ffi::attempt(|error| ffi::protean_sst_file_filter_open(options, path.as_ptr(), error))?;
        Ok(SstFileFilter { filter })
    }

    /// False if the file certainly has no entry of the key, neither a value nor a deletion.
    #[must_use]
    pub fn key_may_exist(&self, key: &[u8]) -> bool {
        let (key, len) = ffi::pointer(Some(key));
        // SAFETY: the filter is open, and the key has that many bytes.
        unsafe { ffi::protean_sst_file_filter_key_may_exist(self.filter, key, len) != 0 }
    }

    /// False if the file certainly has no entry of a key from `start` on that is below `limit`. `None` is no
    /// bound on that side.
    #[must_use]
    pub fn range_may_exist(&self, start: Option<&[u8]>, limit: Option<&[u8]>) -> bool {
        let (start, start_len) = ffi::pointer(start);
        let (limit, limit_len) = ffi::pointer(limit);
        // SAFETY: as in `key_may_exist`.
        unsafe {
            ffi::protean_sst_file_filter_range_may_exist(
                self.filter,
                start,
                start_len,
                limit,
                limit_len,
            ) != 0
        }
    }
}

impl Drop for SstFileFilter {
    fn drop(&mut self) {
        // SAFETY: nothing else has the filter.
        unsafe { ffi::protean_sst_file_filter_destroy(self.filter) }
    }
}
