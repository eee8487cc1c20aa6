// SPDX-License-Identifier: Apache-2.0

//! What Protean knows of a column family of an open DB, and does to it.

use std::ffi::{c_char, c_uchar};
use std::marker::PhantomData;
use std::ptr;

use librocksdb_sys::{rocksdb_column_family_handle_t, rocksdb_readoptions_t, rocksdb_t};

use crate::{ffi, Error, Record};

/// The number of keys in a range, as far as it is known without reading them.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The number of keys: a key that is in several sorted runs counts in each.
    pub count: u64,
    /// Whether `count` is certainly the number of live keys.
    pub is_exact: bool,
    /// All members of `CountResult` in `plugin/approximate_count.h`: `in_memtables`, `sorted_runs`, `files`,
    /// `files_scanned`, `files_estimated`, `deletions`, `deletions_left_out`, `unsure`, and these two.
    pub record: Record,
}

/// A column family of an open DB.
///
/// ```
/// # use rocksdb::{Options, DB};
/// use protean_rocksdb::ColumnFamily;
/// use rocksdb::AsRawPtr; // the feature `raw-ptr` of rocksdb
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("protean-family-{}", std::process::id()));
/// # protean_rocksdb::register()?;
/// # let options = Options::default()
/// #     .get_options_from_string("create_if_missing=true;table_factory={id=ProteanTable;filter_policy=proteus}")?;
/// # let db = DB::open(&options, &path)?;
/// // SAFETY: `family` is dropped before the DB.
/// let family = unsafe { ColumnFamily::of_default(db.as_raw_ptr()) };
/// db.put(b"2026-11-20 08:00", b"21.5 degrees")?;
/// let day = (Some(b"2026-11-20".as_slice()), Some(b"2026-11-21".as_slice()));
/// assert_eq!(family.approximate_count(day.0, day.1)?.count, 1);
/// assert_eq!(family.ranges_may_exist(&[day])?, [true]);
/// println!("{}", family.statistics_text()?);
/// println!("{:?}", family.statistics()?.get("total.blocks_avoided"));
/// # drop(db);
/// # DB::destroy(&options, &path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ColumnFamily<'db> {
    pub(crate) db: *mut rocksdb_t,
    pub(crate) handle: *mut rocksdb_column_family_handle_t,
    read_options: *const rocksdb_readoptions_t,
    _db: PhantomData<&'db ()>,
}

// SAFETY: a DB may be used by any number of threads, and so may these functions.
unsafe impl Send for ColumnFamily<'_> {}
// SAFETY: as above. The read options are not changed, as `with_read_options` demands.
unsafe impl Sync for ColumnFamily<'_> {}

impl ColumnFamily<'_> {
    /// The column family with this handle, such as `AsColumnFamilyRef::inner` of the `rocksdb` crate
    /// returns, of the DB with this pointer, which `AsRawPtr::as_raw_ptr` returns.
    ///
    /// # Safety
    ///
    /// The DB and the handle are open as long as the value is used, and a [`FilterRefresher`](crate::FilterRefresher) that it
    /// has made exists.
    pub unsafe fn new(db: *mut rocksdb_t, handle: *mut rocksdb_column_family_handle_t) -> Self {
        ColumnFamily {
            db,
            handle,
            read_options: ptr::null(),
            _db: PhantomData,
        }
    }

    /// The default column family of a DB.
    ///
    /// # Safety
    ///
    /// As for [`ColumnFamily::new`].
    pub unsafe fn of_default(db: *mut rocksdb_t) -> Self {
        ColumnFamily::new(db, ptr::null_mut())
    }

    /// This column family, whose counts and checks of existence read with these options: with a
    /// snapshot, for instance, or without reading filters that are not in memory.
    ///
    /// # Safety
    ///
    /// The options live, and are not changed, as long as the value is used.
    #[must_use]
    pub unsafe fn with_read_options(self, read_options: *const rocksdb_readoptions_t) -> Self {
        ColumnFamily {
            read_options,
            ..self
        }
    }

    /// What the filters do, as a table for people. No file is read.
    ///
    /// # Errors
    ///
    /// If the C API of RocksDB is not that of the version that Protean was compiled for.
    pub fn statistics_text(&self) -> Result<String, Error> {
        // SAFETY: the DB is open.
        unsafe {
            ffi::attempt(|error| ffi::protean_statistics_text(self.db, self.handle, error))
                .map(|text| ffi::take(text))
        }
    }

    /// What the filters do, by the names in `plugin/filter_statistics.h`.
    ///
    /// # Errors
    ///
    /// As for [`ColumnFamily::statistics_text`].
    pub fn statistics(&self) -> Result<Record, Error> {
        // SAFETY: the DB is open.
        unsafe {
            ffi::attempt(|error| ffi::protean_statistics(self.db, self.handle, error))
                .map(|record| Record::take(record))
        }
    }

    /// What the filters do, in the text format of Prometheus (0.0.4).
    ///
    /// # Errors
    ///
    /// As for [`ColumnFamily::statistics_text`].
    pub fn statistics_prometheus(&self) -> Result<String, Error> {
        // SAFETY: the DB is open.
        unsafe {
            ffi::attempt(|error| {
                ffi::protean_statistics_prometheus(self.db, &self.handle, 1, error)
            })
            .map(|text| ffi::take(text))
        }
    }

    /// Counts the keys from `start` on, or from the first one, that are below `limit`, if there is one,
    /// without reading them.
    ///
    /// # Errors
    ///
    /// If the column family has another table factory than `ProteanTable`, if the read options have a
    /// snapshot, or if a read fails.
    pub fn approximate_count(
        &self,
        start: Option<&[u8]>,
        limit: Option<&[u8]>,
    ) -> Result<Count, Error> {
        let (start, start_len) = ffi::pointer(start);
        let (limit, limit_len) = ffi::pointer(limit);
        // SAFETY: the DB is open, and the keys have that many bytes.
        unsafe {
            let result = ffi::attempt(|error| {
                ffi::protean_approximate_count(
                    self.db,
                    self.read_options,
                    self.handle,
                    start,
                    start_len,
                    limit,
                    limit_len,
                    error,
                )
            })?;
            let record = Record::take(result);
            Ok(Count {
                count: record.count("count"),
                is_exact: record.flag("is_exact"),
                record,
            })
        }
    }

    /// Whether each of the keys may exist: false says that it certainly does not. Memtables and filters
    /// answer; no data block is read. Ask for many keys at once.
    ///
    /// # Errors
    ///
    /// If the column family has another table factory than `ProteanTable`, or a read fails.
    pub fn keys_may_exist<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>, Error> {
        let (keys, sizes) = pointers(keys.iter().map(|key| Some(key.as_ref())));
        // SAFETY: the DB is open, and all lists have that many elements.
        answers(keys.len(), |exist, error| unsafe {
            ffi::protean_keys_may_exist(
                self.db,
                self.read_options,
                self.handle,
                keys.len(),
                keys.as_ptr(),
                sizes.as_ptr(),
                exist,
                error,
            );
        })
    }

    /// Whether each of the ranges, from its first key to below its second one, may hold a key that
    /// exists. `None` is no bound on that side.
    ///
    /// # Errors
    ///
    /// As for [`ColumnFamily::keys_may_exist`].
    pub fn ranges_may_exist<K: AsRef<[u8]>>(
        &self,
        ranges: &[(Option<K>, Option<K>)],
    ) -> Result<Vec<bool>, Error> {
        let bounds = |of: fn(&(Option<K>, Option<K>)) -> &Option<K>| {
            pointers(
                ranges
                    .iter()
                    .map(|range| of(range).as_ref().map(AsRef::as_ref)),
            )
        };
        let (starts, start_sizes) = bounds(|range| &range.0);
        let (limits, limit_sizes) = bounds(|range| &range.1);
        // SAFETY: as in `keys_may_exist`.
        answers(ranges.len(), |exist, error| unsafe {
            ffi::protean_ranges_may_exist(
                self.db,
                self.read_options,
                self.handle,
                ranges.len(),
                starts.as_ptr(),
                start_sizes.as_ptr(),
                limits.as_ptr(),
                limit_sizes.as_ptr(),
                exist,
                error,
            );
        })
    }
}

/// The answers to a number of questions, which `ask` stores.
fn answers(
    size: usize,
    ask: impl FnOnce(*mut c_uchar, *mut *mut c_char),
) -> Result<Vec<bool>, Error> {
    let mut exist: Vec<c_uchar> = vec![1; size];
    // SAFETY: the place for the error is passed on.
    unsafe { ffi::attempt(|error| ask(exist.as_mut_ptr(), error))? };
    Ok(exist.into_iter().map(|may| may != 0).collect())
}

/// The pointers and the sizes of keys, null for none.
fn pointers<'a>(keys: impl Iterator<Item = Option<&'a [u8]>>) -> (Vec<*const c_char>, Vec<usize>) {
    keys.map(ffi::pointer).unzip()
}
