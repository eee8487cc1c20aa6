// SPDX-License-Identifier: Apache-2.0

//! Facts by name, as the C API passes them.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt;

use crate::ffi;

/// Facts, each with a name, such as `total.bounded_seeks.negatives`: statistics, the result of a count or of a
/// refresh, the progress of a refresh.
///
/// The names are those of the members of the structs in C++, behind the names of the structs that they are in, and
/// of the JSON. Units are part of names. Later versions may add facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<String, String>,
    lists: BTreeMap<&'static str, Vec<Record>>,
    json: String,
}

impl Record {
    /// A number; 1 or 0 for a truth value. Numbers below 2^53 are exact. `None` if it is unknown, or if there
    /// is none of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// A number that is a count; 0 where [`Record::get`] has none.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn count(&self, name: &str) -> u64 {
        self.get(name).map_or(0, |number| number as u64)
    }

    /// A truth value; false where [`Record::get`] has none.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.count(name) != 0
    }

    /// A text. `None` if it is unknown, or if there is none of this name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// The numbers that are known, by name.
    #[must_use]
    pub fn numbers(&self) -> &BTreeMap<String, f64> {
        &self.numbers
    }

    /// The records of a list: `levels` and `files` of statistics, `files` of a refresh.
    #[must_use]
    pub fn list(&self, name: &str) -> &[Record] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// All facts and lists, as a JSON object.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Copies a record.
    ///
    /// # Safety
    ///
    /// `record` is one of the C API.
    pub(crate) unsafe fn copy(record: *const ffi::Record) -> Self {
        let mut copied = Record {
            json: ffi::take(ffi::protean_record_json(record)),
            ..Record::default()
        };
        for i in 0.. {
            let name = ffi::protean_record_name(record, i);
            if name.is_null() {
                break;
            }
            let key = ffi::text(name);
            let mut number = 0.0;
            if ffi::protean_record_get(record, name, &mut number) != 0 {
                copied.numbers.insert(key, number);
            } else {
                let text = ffi::protean_record_text(record, name);
                if !text.is_null() {
                    copied.texts.insert(key, ffi::take(text));
                }
            }
        }
        for list in [c"levels", c"files"] {
            let name: &'static CStr = list;
            let records = (0..ffi::protean_record_list_size(record, name.as_ptr()))
                .map(|i| Record::copy(ffi::protean_record_list_get(record, name.as_ptr(), i)))
                .collect();
            copied.lists.insert(name.to_str().unwrap_or(""), records);
        }
        copied
    }

    /// Takes over a record.
    ///
    /// # Safety
    ///
    /// `record` is one that the C API has returned, and is not used any more.
    pub(crate) unsafe fn take(record: *mut ffi::Record) -> Self {
        let taken = Record::copy(record);
        ffi::protean_record_destroy(record);
        taken
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}
