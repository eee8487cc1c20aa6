// SPDX-License-Identifier: Apache-2.0

//! New filters for files whose filters do badly with current queries: at once, or periodically.

use std::any::Any;
use std::ffi::{c_char, c_uchar, c_void, CString};
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;
use std::sync::Mutex;
use std::time::Duration;

use crate::{ffi, ColumnFamily, Error, Record};

/// What a refresh may do, and when it is worth it. Values that are not allowed are refused when it is used.
///
/// Made by [`RefreshOptions::default`], and changed member by member.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshOptions {
    /// Only reports what would be rewritten.
    pub dry_run: bool,
    /// Only files of these levels. Empty for all levels.
    pub levels: Vec<i32>,
    /// Only files that may have keys from this one on. `None`: no bound on that side.
    pub start: Option<Vec<u8>>,
    /// Only files that may have keys below this one. `None`: no bound on that side.
    pub limit: Option<Vec<u8>>,
    /// Maximum number of files that are rewritten at the same time, 1 to 1024.
    pub max_parallel_rewrites: u32,
    /// Rewrites all files, but for those that have filters of the policy and of the right size: for a change of
    /// the policy, not of the queries.
    pub all_files: bool,
    /// Maximum bytes of files to rewrite.
    pub max_bytes: u64,
    /// Maximum bytes per second to read and rewrite, on average; 0 for no limit.
    pub bytes_per_second: u64,
    /// A file is rewritten only if its false positive rate falls by at least this much, 0 to 1.
    pub min_gain: f64,
    /// A file is rewritten only if its new filter saves what that costs within this time.
    pub payback: Duration,
}

impl Default for RefreshOptions {
    fn default() -> Self {
        RefreshOptions {
            dry_run: false,
            levels: Vec::new(),
            start: None,
            limit: None,
            max_parallel_rewrites: 1,
            all_files: false,
            max_bytes: u64::MAX,
            bytes_per_second: 0,
            min_gain: 0.02,
            payback: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// How far a refresh is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshProgress {
    /// The files of the column family.
    pub files: usize,
    /// Files whose outcome is known.
    pub files_decided: usize,
    /// The bytes of all files.
    pub bytes: u64,
    /// The bytes of the files whose outcome is known, from which the time left can be told.
    pub bytes_decided: u64,
    /// Bytes read from files, to learn their keys.
    pub bytes_read: u64,
    /// Bytes of files that were rewritten, as they were.
    pub bytes_rewritten: u64,
}

/// A file, as it was when a refresh began, and what became of it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshedFile {
    /// Such as `000123.sst`.
    pub name: String,
    /// The level in the LSM tree.
    pub level: i32,
    /// Such as `rewritten`, `would be rewritten` or `too little gain`.
    pub outcome: String,
}

/// What a refresh has done.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshResult {
    /// All files of the column family, by level.
    pub files: Vec<RefreshedFile>,
    /// Sample queries by which it was decided.
    pub samples: u64,
    /// Bytes that were read from files, to learn their keys.
    pub bytes_read: u64,
    /// Files that were rewritten or, in a dry run, would be.
    pub files_rewritten: u64,
    /// Bytes of these files, as they were.
    pub bytes_rewritten: u64,
    /// All of this and more, such as the designs of filters.
    pub record: Record,
}

/// Why a refresh ended early, and what it had done by then. A refresh that its `watch` ended is one, too: its error
/// begins with `Result incomplete`.
#[derive(Clone, Debug)]
pub struct RefreshError {
    /// Why it ended.
    pub error: Error,
    /// What had been done. It holds, and another refresh goes on from there.
    pub done: RefreshResult,
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for RefreshError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Options of the C API, which are destroyed with this.
struct OwnedOptions(*mut ffi::RefreshOptions);

impl OwnedOptions {
    fn new(options: &RefreshOptions) -> Result<Self, Error> {
        let levels: Vec<String> = options.levels.iter().map(i32::to_string).collect();
        let values = [
            (c"dry_run", options.dry_run.to_string()),
            (c"levels", levels.join(",")),
            (
                c"max_parallel_rewrites",
                options.max_parallel_rewrites.to_string(),
            ),
            (c"all_files", options.all_files.to_string()),
            (c"max_bytes", options.max_bytes.to_string()),
            (c"bytes_per_second", options.bytes_per_second.to_string()),
            (c"min_gain", options.min_gain.to_string()),
            (
                c"payback_seconds",
                options.payback.as_secs_f64().to_string(),
            ),
        ];
        let (start, start_len) = ffi::pointer(options.start.as_deref());
        let (limit, limit_len) = ffi::pointer(options.limit.as_deref());
        // SAFETY: the options are new, and all that is passed is copied.
        let set = unsafe { OwnedOptions(ffi::protean_refresh_options_create()) };
        for (name, value) in values {
            let value: CString = ffi::c_string(value)?;
            // SAFETY: as above.
            unsafe {
                ffi::attempt(|error| {
                    ffi::protean_refresh_options_set(set.0, name.as_ptr(), value.as_ptr(), error);
                })?;
            }
        }
        // SAFETY: as above.
        unsafe {
            ffi::protean_refresh_options_set_range(set.0, start, start_len, limit, limit_len);
        }
        Ok(set)
    }
}

impl Drop for OwnedOptions {
    fn drop(&mut self) {
        // SAFETY: nothing else has the options.
        unsafe { ffi::protean_refresh_options_destroy(self.0) }
    }
}

impl RefreshResult {
    fn of(record: Record) -> Self {
        let text = |file: &Record, name| file.text(name).unwrap_or_default().to_owned();
        RefreshResult {
            files: record
                .list("files")
                .iter()
                .map(|file| RefreshedFile {
                    name: text(file, "name"),
                    level: i32::try_from(file.count("level")).unwrap_or(-1),
                    outcome: text(file, "outcome"),
                })
                .collect(),
            samples: record.count("samples"),
            bytes_read: record.count("bytes_read"),
            files_rewritten: record.count("files_rewritten"),
            bytes_rewritten: record.count("bytes_rewritten"),
            record,
        }
    }

    /// Nothing has been done.
    fn none() -> Self {
        RefreshResult::of(Record::default())
    }
}

/// A closure that is told the progress, and the panic that it has ended with.
struct Watcher<'a> {
    watch: &'a mut dyn FnMut(RefreshProgress) -> bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// Passes the progress on to the [`Watcher`] in `state`. No panic may go through C++.
unsafe extern "C" fn tell_progress(state: *mut c_void, progress: *const ffi::Record) -> c_uchar {
    let watcher = &mut *state.cast::<Watcher>();
    if watcher.panic.is_some() {
        return 0;
    }
    let record = Record::copy(progress);
    let files = |name| usize::try_from(record.count(name)).unwrap_or(usize::MAX);
    let at = RefreshProgress {
        files: files("files"),
        files_decided: files("files_decided"),
        bytes: record.count("bytes"),
        bytes_decided: record.count("bytes_decided"),
        bytes_read: record.count("bytes_read"),
        bytes_rewritten: record.count("bytes_rewritten"),
    };
    match catch_unwind(AssertUnwindSafe(|| (watcher.watch)(at))) {
        Ok(goes_on) => c_uchar::from(goes_on),
        Err(panic) => {
            watcher.panic = Some(panic);
            0
        }
    }
}

/// Refreshes a column family. `watch` is called from this thread.
pub(crate) fn refresh(
    family: &ColumnFamily<'_>,
    options: &RefreshOptions,
    watch: &mut dyn FnMut(RefreshProgress) -> bool,
) -> Result<RefreshResult, RefreshError> {
    let set = OwnedOptions::new(options).map_err(|error| RefreshError {
        error,
        done: RefreshResult::none(),
    })?;
    let mut watcher = Watcher { watch, panic: None };
    // SAFETY: the column family is open, and the watcher outlives the call, which is the only one that
    // uses it.
    let (done, outcome) = unsafe {
        ffi::protean_refresh_options_set_progress(set.0, (&raw mut watcher).cast(), tell_progress);
        let mut result = std::ptr::null_mut();
        let outcome = ffi::attempt(|error| {
            result = ffi::protean_refresh_filters(family.db(), family.handle(), set.0, error);
        });
        (RefreshResult::of(Record::take(result)), outcome)
    };
    if let Some(panic) = watcher.panic {
        std::panic::resume_unwind(panic);
    }
    match outcome {
        Ok(()) => Ok(done),
        Err(error) => Err(RefreshError { error, done }),
    }
}

type Report = Box<dyn FnMut(Result<RefreshResult, RefreshError>) + Send>;

/// A thread that refreshes a column family periodically, until this is dropped.
///
/// Made by [`ColumnFamily::refresh_periodically`]. Dropping it waits for the files that are being rewritten.
pub struct FilterRefresher<'db> {
    refresher: *mut ffi::FilterRefresher,
    // The thread calls it until the refresher is destroyed. It has an address of its own.
    report: *mut Mutex<Option<Report>>,
    _db: PhantomData<&'db ()>,
}

// SAFETY: the refresher may be destroyed in any thread, and has no other functions.
unsafe impl Send for FilterRefresher<'_> {}
// SAFETY: as above.
unsafe impl Sync for FilterRefresher<'_> {}

impl fmt::Debug for FilterRefresher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterRefresher").finish_non_exhaustive()
    }
}

/// Passes a result on to the closure in `state`. A closure that has panicked is not called again.
unsafe extern "C" fn tell_result(
    state: *mut c_void,
    error: *const c_char,
    result: *const ffi::Record,
) {
    let report = &*state.cast::<Mutex<Option<Report>>>();
    let Ok(mut report) = report.lock() else {
        return;
    };
    let Some(mut tell) = report.take() else {
        return;
    };
    let done = RefreshResult::of(Record::copy(result));
    let outcome = if error.is_null() {
        Ok(done)
    } else {
        let error = Error::new(ffi::text(error));
        Err(RefreshError { error, done })
    };
    if catch_unwind(AssertUnwindSafe(|| tell(outcome))).is_ok() {
        *report = Some(tell);
    }
}

impl<'db> FilterRefresher<'db> {
    pub(crate) fn start(
        family: &ColumnFamily<'db>,
        options: &RefreshOptions,
        period: Duration,
        socket: Option<&Path>,
        report: Report,
    ) -> Result<Self, Error> {
        let set = OwnedOptions::new(options)?;
        let socket = socket
            .map(|path| CString::new(path.as_os_str().as_bytes()))
            .transpose()
            .map_err(|_| Error::new("a socket's path has no NUL".into()))?;
        let report = Box::into_raw(Box::new(Mutex::new(Some(report))));
        // SAFETY: the column family is open as long as 'db lives, and `report` until the refresher is
        // destroyed.
        let started = unsafe {
            ffi::attempt(|error| {
                ffi::protean_filter_refresher_create(
                    family.db(),
                    family.handle(),
                    set.0,
                    period.as_secs().max(1),
                    socket.as_ref().map_or(ptr::null(), |path| path.as_ptr()),
                    report.cast(),
                    tell_result,
                    error,
                )
            })
        };
        match started {
            Ok(refresher) => Ok(FilterRefresher {
                refresher,
                report,
                _db: PhantomData,
            }),
            Err(error) => {
                // SAFETY: no thread has been started, so nothing else has it.
                drop(unsafe { Box::from_raw(report) });
                Err(error)
            }
        }
    }
}

impl Drop for FilterRefresher<'_> {
    fn drop(&mut self) {
        // SAFETY: when the first call returns, the thread has ended, and nothing else has `report`.
        unsafe {
            ffi::protean_filter_refresher_destroy(self.refresher);
            drop(Box::from_raw(self.report));
        }
    }
}
