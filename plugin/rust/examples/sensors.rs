// SPDX-License-Identifier: Apache-2.0

//! Readings of a sensor in a DB with range filters: bounded seeks, counts, existence, statistics and a
//! refresh.
//!
//!     cargo run --example sensors DB

use std::error::Error;
use std::path::Path;

use protean_rocksdb::{ColumnFamily, RefreshOptions, SearchBounds, SstFileFilter};
use rocksdb::{AsRawPtr, Options, ReadOptions, DB};

fn key(day: u32, hour: u32, minute: u32) -> Vec<u8> {
    format!("2026-11-{day:02} {hour:02}:{minute:02}").into()
}

/// The readings of an hour, which has none if it is odd.
fn read_hour(db: &DB, day: u32, hour: u32) -> usize {
    let mut bounded = ReadOptions::default();
    bounded.set_iterate_upper_bound(key(day, hour + 1, 0));
    let mut iterator = db.raw_iterator_opt(bounded);
    iterator.seek(key(day, hour, 0));
    let mut readings = 0;
    while iterator.valid() {
        readings += 1;
        iterator.next();
    }
    readings
}

/// Whether a search that others make, with no bound of its own, finds nothing in an hour.
fn is_silent(db: &DB, day: u32, hour: u32) -> bool {
    let (start, limit) = (key(day, hour, 0), key(day, hour + 1, 0));
    let _bounds = SearchBounds::new(Some(&start), Some(&limit));
    let mut iterator = db.raw_iterator();
    iterator.seek(&start);
    iterator.key().is_none_or(|key| key >= limit.as_slice())
}

/// Writes and reads the readings, and says what it has seen.
pub fn run(path: &Path) -> Result<String, Box<dyn Error>> {
    protean_rocksdb::register()?;
    let options = Options::default().get_options_from_string(
        "create_if_missing=true;table_factory={id=ProteanTable;filter_policy=proteus:14}",
    )?;
    let db = DB::open(&options, path)?;
    for minute in (0..30 * 24 * 60).filter(|minute| minute / 60 % 2 == 0) {
        let (day, hour) = (1 + minute / 60 / 24, minute / 60 % 24);
        db.put(key(day, hour, minute % 60), "21.5")?;
    }
    db.flush()?;
    let hours = || (1..=30).flat_map(|day| (0..23).map(move |hour| (day, hour)));
    let readings: usize = hours().map(|(day, hour)| read_hour(&db, day, hour)).sum();
    let silent = hours()
        .filter(|(day, hour)| is_silent(&db, *day, *hour))
        .count();

    // SAFETY: `family` is dropped before the DB.
    let family = unsafe { ColumnFamily::of_default(db.as_raw_ptr()) };
    let (start, limit, later) = (key(7, 0, 0), key(8, 0, 0), key(31, 0, 0));
    let count = family.approximate_count(Some(&start), Some(&limit))?.count;
    let exist = family.ranges_may_exist(&[(Some(&start), Some(&limit)), (Some(&later), None)])?;
    let statistics = family.statistics()?;
    let negatives = statistics.count("total.bounded_seeks.negatives");
    let file = statistics.list("files")[0].text("path").unwrap_or_default();
    // SAFETY: these are options of RocksDB.
    let filter = unsafe { SstFileFilter::open(options.as_raw_ptr(), Path::new(file))? };
    let in_file = filter.range_may_exist(Some(&start), Some(&limit));
    let mut refresh = RefreshOptions::default();
    refresh.set("min_gain", 0.05)?.set("max_bytes", "1G")?;
    let rewritten = family.refresh_filters(&refresh)?.count("files_rewritten");
    Ok(format!(
        "{readings} readings; {count} readings on a day; on the day and later: {exist:?}; in the file: {in_file}\n\
         {silent} hours are silent; {negatives} seeks did not read; {rewritten} files have new filters"
    ))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("sensors_db".into());
    println!("{}", run(Path::new(&path))?);
    Ok(())
}
