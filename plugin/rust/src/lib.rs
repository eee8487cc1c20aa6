// SPDX-License-Identifier: Apache-2.0

//! Range filters for the RocksDB of the `rocksdb` crate.
//!
//! After [`register`], RocksDB knows the table factory `ProteanTable` wherever it reads options: in
//! a string, or in an OPTIONS file. Every SST file that is written then gets a filter that seeks
//! with a bound ask before they read, too, and not only `get`.
//!
//! ```
//! use rocksdb::{Options, DB};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("protean-doc-{}", std::process::id()));
//! protean_rocksdb::register()?;
//! let options = Options::default()
//!     .get_options_from_string("create_if_missing=true;table_factory={id=ProteanTable;filter_policy=proteus}")?;
//! let db = DB::open(&options, &path)?;
//! # drop(db);
//! # DB::destroy(&options, &path)?;
//! # Ok(())
//! # }
//! ```
//!
//! [`ColumnFamily`] is what Protean knows of an open DB and does to it: statistics, counts, what may
//! exist, new filters. [`SearchBounds`] is for iterators that the application does not create, [`SstFileFilter`] for
//! files that no DB has. All of it stands on the C API in `plugin/protean_c.h`.

use std::fmt;
use std::sync::OnceLock;

// Links RocksDB, which nothing else here refers to.
use librocksdb_sys as _;

mod column_family;
mod ffi;
mod record;
mod refresh;
mod search_bounds;
mod sst_file_filter;

pub use column_family::{ColumnFamily, Count};
pub use record::Record;
pub use refresh::{FilterRefresher, RefreshError, RefreshOptions};
pub use search_bounds::SearchBounds;
pub use sst_file_filter::SstFileFilter;

/// Why Protean has not been registered, or could not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    fn new(message: String) -> Self {
        Error { message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Registers Protean's table factory and filter policies with RocksDB.
///
/// Call it before the first options that name them are read. It may be called from several threads
/// and as often as one likes: the first call decides, the others return what it returned.
///
/// # Errors
///
/// Before it registers anything, it makes sure that the RocksDB in the program is the one that
/// Protean has been compiled for: it compares the version and the sizes of objects, has RocksDB
/// parse options, and writes and reads an SST file in memory, which takes about a millisecond. If
/// anything differs, or if another Protean is registered already, the error says what, and RocksDB
/// is left as it was.
pub fn register() -> Result<(), Error> {
    static REGISTERED: OnceLock<Result<(), Error>> = OnceLock::new();
    REGISTERED.get_or_init(register_now).clone()
}

/// The version of Protean, and the RocksDB that it was compiled for, in one line.
pub fn build_info() -> String {
    // SAFETY: the string is taken over.
    unsafe { ffi::take(ffi::protean_build_info()) }
}

/// Puts the tables of options into a sample group: all DBs whose options have an equal filter policy
/// in the same group share the samples of their queries, by column family. So the next DB of a series,
/// such as one with a DB for each day, begins with what the others have learned. A group exists as long
/// as one of its tables does.
///
/// # Errors
///
/// If the table factory of the options is not `ProteanTable` with a filter policy, or if the group is empty.
///
/// # Safety
///
/// `options` are options of RocksDB, such as `Options::as_raw_ptr` of the `rocksdb` crate returns.
pub unsafe fn set_sample_group(
    options: *mut librocksdb_sys::rocksdb_options_t,
    group: &str,
) -> Result<(), Error> {
    let group = ffi::c_string(group)?;
    ffi::attempt(|error| ffi::protean_options_set_sample_group(options, group.as_ptr(), error))
}

fn register_now() -> Result<(), Error> {
    // SAFETY: the place for the error is passed on.
    unsafe { ffi::attempt(|error| ffi::protean_register(error)) }.map_err(|reason| {
        let info = build_info();
        Error::new(format!("Protean is not registered: {info}: {reason}"))
    })
}
