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
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use crate::{ffi, ColumnFamily, Error, Record};

/// What a refresh may do, and when it is worth it. The options, their values, and their defaults are those of
/// `RefreshOptions` in `plugin/refresh_filters.h`:
///
/// ```
/// # fn main() -> Result<(), protean_rocksdb::Error> {
/// use protean_rocksdb::RefreshOptions;
///
/// let mut options: RefreshOptions = "levels=5,6;max_bytes=20G".parse()?;
/// options.set("min_gain", 0.05)?.set("dry_run", true)?;
/// let error = options.set("min_gain", 5).unwrap_err();
/// assert!(error.to_string().contains("min_gain=5 is not allowed; allowed: numbers from 0 to 1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RefreshOptions {
    /// Names and values of the options that have been set, at least.
    text: String,
}

impl RefreshOptions {
    /// Sets the option of this name from text: true or false; numbers and sizes as in RocksDB's options, such as
    /// `64K`; levels as `0,1,6`.
    ///
    /// # Errors
    ///
    /// If there is no such option, or if the value is not allowed. The error says what is, and nothing has changed.
    pub fn set(&mut self, name: &str, value: impl fmt::Display) -> Result<&mut Self, Error> {
        let (name, value) = (ffi::c_string(name)?, ffi::c_string(value.to_string())?);
        let changed = OwnedOptions::new(self)?;
        // SAFETY: all that is passed is copied.
        unsafe {
            ffi::attempt(|error| {
                ffi::protean_refresh_options_set(changed.0, name.as_ptr(), value.as_ptr(), error);
            })?;
        }
        self.text = changed.text();
        Ok(self)
    }

    /// Selects files that may have keys from `start` on that are below `limit`. `None` is no bound on that side.
    ///
    /// # Errors
    ///
    /// None is known.
    pub fn set_range(
        &mut self,
        start: Option<&[u8]>,
        limit: Option<&[u8]>,
    ) -> Result<&mut Self, Error> {
        self.set("start", hex(start))?.set("limit", hex(limit))
    }
}

/// A key as the text of options, in which nothing stands for none.
fn hex(key: Option<&[u8]>) -> String {
    let begin = key.map(|_| "0x".to_string());
    let bytes = key
        .unwrap_or_default()
        .iter()
        .map(|byte| format!("{byte:02x}"));
    begin.into_iter().chain(bytes).collect()
}

impl FromStr for RefreshOptions {
    type Err = Error;

    /// Options in a text `NAME=VALUE;NAME=VALUE`. The others have their defaults.
    fn from_str(text: &str) -> Result<Self, Error> {
        let options = RefreshOptions { text: text.into() };
        Ok(RefreshOptions {
            text: OwnedOptions::new(&options)?.text(),
        })
    }
}

impl fmt::Display for RefreshOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a refresh ended early, and what it had done by then. A refresh that its `watch` ended is one, too: its error
/// begins with `Result incomplete`.
#[derive(Clone, Debug)]
pub struct RefreshError {
    /// Why it ended.
    pub error: Error,
    /// What had been done. It holds, and another refresh goes on from there.
    pub done: Record,
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
        let text = ffi::c_string(options.text.as_str())?;
        // SAFETY: the options are new, and the text is copied.
        unsafe {
            let new = OwnedOptions(ffi::protean_refresh_options_create());
            ffi::attempt(|error| {
                ffi::protean_refresh_options_parse(new.0, text.as_ptr(), error);
            })?;
            Ok(new)
        }
    }

    fn text(&self) -> String {
        // SAFETY: the options are there, and the string is taken over.
        unsafe { ffi::take(ffi::protean_refresh_options_text(self.0)) }
    }
}

impl Drop for OwnedOptions {
    fn drop(&mut self) {
        // SAFETY: nothing else has the options.
        unsafe { ffi::protean_refresh_options_destroy(self.0) }
    }
}

/// A closure that is told the progress, and the panic that it has ended with.
struct Watcher<'a> {
    watch: &'a mut dyn FnMut(&Record) -> bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// Passes the progress on to the [`Watcher`] in `state`. No panic may go through C++.
unsafe extern "C" fn tell_progress(state: *mut c_void, progress: *const ffi::Record) -> c_uchar {
    let watcher = &mut *state.cast::<Watcher>();
    if watcher.panic.is_some() {
        return 0;
    }
    let record = Record::copy(progress);
    match catch_unwind(AssertUnwindSafe(|| (watcher.watch)(&record))) {
        Ok(goes_on) => c_uchar::from(goes_on),
        Err(panic) => {
            watcher.panic = Some(panic);
            0
        }
    }
}

type Report = Box<dyn FnMut(Result<Record, RefreshError>) + Send>;

/// A thread that refreshes a column family periodically, until this is dropped.
///
/// Made by [`ColumnFamily::refresh_periodically`]. Dropping it waits for the files that are being rewritten.
#[derive(Debug)]
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
    let done = Record::copy(result);
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

impl Drop for FilterRefresher<'_> {
    fn drop(&mut self) {
        // SAFETY: when the first call returns, the thread has ended, and nothing else has `report`.
        unsafe {
            ffi::protean_filter_refresher_destroy(self.refresher);
            drop(Box::from_raw(self.report));
        }
    }
}

impl<'db> ColumnFamily<'db> {
    /// Rewrites the files whose filters should be redesigned. Returns the members of `RefreshResult` in
    /// `plugin/refresh_filters.h`, such as `files_rewritten`, with the list `files`.
    ///
    /// # Errors
    ///
    /// What `RefreshFilters` in `plugin/refresh_filters.h` returns.
    pub fn refresh_filters(&self, options: &RefreshOptions) -> Result<Record, RefreshError> {
        self.refresh_filters_watched(options, |_| true)
    }

    /// Does the same, and calls `watch` now and then, from this thread, with how far it is: the members of
    /// `RefreshProgress`, such as `bytes_decided`. Refreshing ends when it returns false, after the files that
    /// are being rewritten.
    ///
    /// # Errors
    ///
    /// As for [`ColumnFamily::refresh_filters`]; also if `watch` has ended it.
    ///
    /// # Panics
    ///
    /// If `watch` panics, which ends refreshing, too.
    pub fn refresh_filters_watched(
        &self,
        options: &RefreshOptions,
        mut watch: impl FnMut(&Record) -> bool,
    ) -> Result<Record, RefreshError> {
        let set = OwnedOptions::new(options).map_err(|error| RefreshError {
            error,
            done: Record::default(),
        })?;
        let mut watcher = Watcher {
            watch: &mut watch,
            panic: None,
        };
        // SAFETY: the column family is open, and the watcher outlives the call, which is the only one that
        // uses it.
        let (done, outcome) = unsafe {
            ffi::protean_refresh_options_set_progress(
                set.0,
                (&raw mut watcher).cast(),
                tell_progress,
            );
            let mut result = std::ptr::null_mut();
            let outcome = ffi::attempt(|error| {
                result = ffi::protean_refresh_filters(self.db, self.handle, set.0, error);
            });
            (Record::take(result), outcome)
        };
        if let Some(panic) = watcher.panic {
            std::panic::resume_unwind(panic);
        }
        match outcome {
            Ok(()) => Ok(done),
            Err(error) => Err(RefreshError { error, done }),
        }
    }

    /// Refreshes the column family `period` after this call, and again that long after each refresh has
    /// ended, in a thread of its own, until the value is dropped. `report` is told what each refresh has
    /// done. It is not called again once it has panicked.
    ///
    /// With the path of a `socket`, the process answers requests there: those of the command `protean` with its flag
    /// `--live`, which looks for `protean.sock` in the DB's folder, and of HTTP clients. Only the user of the process,
    /// and root, can ask.
    ///
    /// # Errors
    ///
    /// As for [`ColumnFamily::statistics_text`], and if the socket cannot be used.
    pub fn refresh_periodically(
        &self,
        options: &RefreshOptions,
        period: Duration,
        socket: Option<&Path>,
        report: impl FnMut(Result<Record, RefreshError>) + Send + 'static,
    ) -> Result<FilterRefresher<'db>, Error> {
        let set = OwnedOptions::new(options)?;
        let socket = socket
            .map(|path| CString::new(path.as_os_str().as_bytes()))
            .transpose()
            .map_err(|_| Error::new("a socket's path has no NUL".into()))?;
        let report: Report = Box::new(report);
        let report = Box::into_raw(Box::new(Mutex::new(Some(report))));
        // SAFETY: the column family is open as long as 'db lives, and `report` until the refresher is
        // destroyed.
        let started = unsafe {
            ffi::attempt(|error| {
                ffi::protean_filter_refresher_create(
                    self.db,
                    self.handle,
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
