// SPDX-License-Identifier: Apache-2.0

//! Bounds for seeks of iterators that the application does not create.

use std::marker::PhantomData;

use crate::ffi;

/// Bounds of this thread's seeks, as long as the value lives.
///
/// An application that creates its own iterators gives them bounds by
/// `ReadOptions::set_iterate_upper_bound` and needs no `SearchBounds`. But an engine or a library may create
/// them without the bounds that its caller knows. Without a bound, no range is empty, and a filter
/// cannot spare the read.
///
/// While the value lives, the seeks of this thread in tables with `ProteanTable` end at these bounds,
/// unless their iterator has a bound of its own in that direction. Outside of the bounds, the keys of
/// an iterator are in order, but incomplete: look at nothing there, and begin within the bounds. Do
/// not step an iterator that is positioned by another seek meanwhile. `plugin/search_bounds.h` says
/// more.
///
/// Values may be nested: the inner one counts, and when it is dropped, the outer one counts again.
///
/// ```
/// # fn engine_seek(_: &[u8]) {}
/// use protean_rocksdb::SearchBounds;
///
/// let (start, limit) = (b"2026-11-20", b"2026-11-21");
/// let bounds = SearchBounds::new(Some(start), Some(limit));
/// engine_seek(start);
/// drop(bounds);
/// ```
#[derive(Debug)]
#[must_use = "the bounds end when this is dropped"]
pub struct SearchBounds {
    scope: *mut ffi::SearchBoundsScope,
    // Bounds belong to a thread.
    _of_this_thread: PhantomData<*const ()>,
}

impl SearchBounds {
    /// Sets bounds: only keys from `lower` on that are below `upper` matter. `None` is no bound on
    /// that side. The keys, which have no timestamps, are copied.
    pub fn new(lower: Option<&[u8]>, upper: Option<&[u8]>) -> SearchBounds {
        let (lower, lower_len) = ffi::pointer(lower);
        let (upper, upper_len) = ffi::pointer(upper);
        SearchBounds {
            // SAFETY: both keys are null or have that many bytes.
            scope: unsafe {
                ffi::protean_search_bounds_scope_create(lower, lower_len, upper, upper_len)
            },
            _of_this_thread: PhantomData,
        }
    }
}

impl Drop for SearchBounds {
    fn drop(&mut self) {
        // SAFETY: the scope was created in this thread, since values are not `Send`.
        unsafe { ffi::protean_search_bounds_scope_destroy(self.scope) }
    }
}
