// SPDX-License-Identifier: Apache-2.0

//! What the crate knows of an open DB, and does to it: each function, with its answers compared with what
//! has been written.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use protean_rocksdb::{ColumnFamily, RefreshOptions, SearchBounds, SstFileFilter};
use rocksdb::{AsColumnFamilyRef, AsRawPtr, Options, ReadOptions, SstFileWriter, DB};

#[allow(dead_code)]
#[path = "../examples/sensors.rs"]
mod sensors;

const SORTED_RUNS: u64 = 3;
const KEYS: u64 = 3_000;
/// Between two keys.
const DISTANCE: u64 = 1_000;

/// A folder that no other test uses.
fn folder_of(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("api")
        .join(name)
}

/// A folder that no other test uses, and that is not there yet.
fn new_folder(name: &str) -> PathBuf {
    let folder = folder_of(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn options_of(policy: &str) -> Result<Options, Box<dyn Error>> {
    protean_rocksdb::register()?;
    let text = format!(
        "create_if_missing=true;disable_auto_compactions=true;\
         table_factory={{id=ProteanTable;filter_policy={policy}}}"
    );
    Ok(Options::default().get_options_from_string(text)?)
}

/// A DB with the keys `i * DISTANCE` in sorted runs of level 0.
fn filled(name: &str, policy: &str) -> Result<DB, Box<dyn Error>> {
    let db = DB::open(&options_of(policy)?, new_folder(name))?;
    for run in 0..SORTED_RUNS {
        for i in (run..KEYS).step_by(SORTED_RUNS as usize) {
            db.put(key(i * DISTANCE), b"value")?;
        }
        db.flush()?;
    }
    Ok(db)
}

/// The default column family. It must be dropped before the DB.
fn default_of(db: &DB) -> ColumnFamily<'_> {
    // SAFETY: the value borrows the DB.
    unsafe { ColumnFamily::of_default(db.as_raw_ptr()) }
}

#[test]
fn build_info() {
    let said = protean_rocksdb::build_info();
    assert!(said.starts_with("protean "), "{said}");
    assert!(said.contains("for RocksDB 11.8.1"), "{said}");
}

#[test]
fn statistics() -> Result<(), Box<dyn Error>> {
    let mut db = filled("statistics", "surf:0:8")?;
    db.create_cf("second", &options_of("proteus:12")?)?;
    let family = default_of(&db);
    assert!(family.statistics_text()?.contains("column family default"));
    let statistics = family.statistics()?;
    assert_eq!(statistics.get("live_files"), Some(3.0));
    assert_eq!(statistics.text("column_family"), Some("default"));
    assert_eq!(statistics.get("no.such.name"), None);
    assert_eq!(statistics.list("levels")[0].count("open_files"), 3);
    assert_eq!(statistics.list("files").len(), 3);
    let json = statistics.json();
    assert!(json.contains("\"live_files\": 3"), "{json}");
    let lines = family.statistics_prometheus()?;
    assert!(lines.contains("column_family=\"default\""), "{lines}");

    let handle = db.cf_handle("second").expect("it has been created");
    // SAFETY: the DB and the handle live as long as the value.
    let second = unsafe { ColumnFamily::new(db.as_raw_ptr(), handle.inner()) };
    assert!(second
        .statistics_prometheus()?
        .contains("column_family=\"second\""));
    Ok(())
}

#[test]
fn counts() -> Result<(), Box<dyn Error>> {
    let db = filled("counts", "surf:0:8")?;
    let family = default_of(&db);
    let all = family.approximate_count(None, None)?;
    assert_eq!(all.count, KEYS);
    for (name, number) in [
        ("count", KEYS),
        ("in_memtables", 0),
        ("sorted_runs", SORTED_RUNS),
        ("files", SORTED_RUNS),
        ("files_scanned", 0),
        ("deletions", 0),
    ] {
        assert_eq!(all.record.get(name), Some(number as f64), "{name}");
    }
    assert!(!all.is_exact, "the DB has several sorted runs");
    let (start, limit) = (key(100 * DISTANCE), key(1_100 * DISTANCE));
    let count = |start: Option<&[u8]>, limit: Option<&[u8]>| {
        family
            .approximate_count(start, limit)
            .map(|count| count.count)
    };
    assert_eq!(count(Some(&start), Some(&limit))?, 1_000);
    assert_eq!(count(Some(&start), None)?, KEYS - 100);
    assert_eq!(count(None, Some(&limit))?, 1_100);
    assert_eq!(count(Some(&limit), Some(&start))?, 0);
    db.put(key(1), b"value")?;
    let more = family.approximate_count(None, None)?;
    assert_eq!(more.record.count("in_memtables"), 1);
    db.compact_range::<&[u8], &[u8]>(None, None);
    let exact = family.approximate_count(None, None)?;
    assert_eq!((exact.count, exact.is_exact), (KEYS + 1, true));

    // Options of the reads.
    // SAFETY: both pointers are used while the options and the snapshot live.
    unsafe {
        let options = librocksdb_sys::rocksdb_readoptions_create();
        let reading = family.with_read_options(options);
        assert_eq!(reading.approximate_count(None, None)?.count, KEYS + 1);
        let snapshot = librocksdb_sys::rocksdb_create_snapshot(db.as_raw_ptr());
        librocksdb_sys::rocksdb_readoptions_set_snapshot(options, snapshot);
        let refused = reading.approximate_count(None, None).unwrap_err();
        assert!(refused.to_string().contains("snapshot"), "{refused}");
        db.delete(key(1))?;
        assert_eq!(reading.keys_may_exist(&[key(1)])?, [true]);
        assert_eq!(family.keys_may_exist(&[key(1)])?, [false]);
        librocksdb_sys::rocksdb_release_snapshot(db.as_raw_ptr(), snapshot);
        librocksdb_sys::rocksdb_readoptions_destroy(options);
    }
    Ok(())
}

#[test]
fn what_may_exist() -> Result<(), Box<dyn Error>> {
    let db = filled("what_may_exist", "surf:0:12")?;
    let family = default_of(&db);
    let present: Vec<_> = (0..KEYS).map(|i| key(i * DISTANCE)).collect();
    let absent: Vec<_> = (0..KEYS)
        .map(|i| key(i * DISTANCE + DISTANCE / 2))
        .collect();
    assert!(family.keys_may_exist(&present)?.iter().all(|may| *may));
    let passed = family
        .keys_may_exist(&absent)?
        .iter()
        .filter(|may| **may)
        .count();
    assert!(passed < KEYS as usize / 20, "{passed}");

    let around = |keys: &[Vec<u8>]| -> Vec<_> {
        keys.iter()
            .map(|key| (Some(key.clone()), Some([key.as_slice(), b"x"].concat())))
            .collect()
    };
    assert!(family
        .ranges_may_exist(&around(&present))?
        .iter()
        .all(|may| *may));
    let passed = family
        .ranges_may_exist(&around(&absent))?
        .iter()
        .filter(|may| **may)
        .count();
    assert!(passed < KEYS as usize / 20, "{passed}");
    assert_eq!(family.keys_may_exist::<&[u8]>(&[])?, []);
    assert_eq!(
        family.ranges_may_exist(&[(Some(b"b"), Some(b"a"))])?,
        [false]
    );
    // Open ends.
    let last = (KEYS - 1) * DISTANCE;
    let ranges = [
        (None, Some(key(0)), false),
        (None, Some(key(1)), true),
        (Some(key(last)), None, true),
        (Some(key(last + 1)), None, false),
        (None, None, true),
    ];
    let (asked, told): (Vec<_>, Vec<_>) = ranges
        .map(|(from, to, may)| ((from, to), may))
        .into_iter()
        .unzip();
    assert_eq!(family.ranges_may_exist(&asked)?, told);
    Ok(())
}

/// The first key that a seek without bounds of its own finds, from key number `i` and a half on.
fn found(db: &DB, i: u64) -> Option<Vec<u8>> {
    let mut iterator = db.raw_iterator_opt(ReadOptions::default());
    iterator.seek(key(i * DISTANCE + DISTANCE / 2));
    iterator.key().map(<[u8]>::to_vec)
}

#[test]
fn search_bounds() -> Result<(), Box<dyn Error>> {
    let db = filled("search_bounds", "surf:0:12")?;
    let range = |i: u64| (key(i * DISTANCE + 400), key(i * DISTANCE + 600));
    let hidden = |i: u64| {
        let (start, limit) = range(i);
        let _bounds = SearchBounds::new(Some(&start), Some(&limit));
        found(&db, i).is_none()
    };
    let next = |i: u64| Some(key((i + 1) * DISTANCE));
    let spared = (0..1_000).filter(|i| hidden(*i)).count();
    assert!(spared > 900, "{spared}");
    // The bounds have ended, and others do not hide what is within them.
    for i in 0..1_000 {
        assert_eq!(found(&db, i), next(i));
        let wide = SearchBounds::new(None, Some(&key((i + 2) * DISTANCE)));
        assert_eq!(found(&db, i), next(i));
        if i == 0 {
            // The inner bounds count until they end.
            hidden(i);
            assert_eq!(found(&db, i), next(i));
            // Other threads have none.
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(found(&db, 5), next(5)));
            });
        }
        drop(wide);
    }
    Ok(())
}

fn refresh_options(text: &str) -> RefreshOptions {
    text.parse().expect(text)
}

#[test]
fn options_of_a_refresh() -> Result<(), Box<dyn Error>> {
    let mut options = RefreshOptions::default();
    options.set("levels", "1,6")?.set("min_gain", 0.5)?;
    options.set("max_bytes", "64K")?.set("dry_run", true)?;
    let text = options.set_range(Some(b"k"), Some(b""))?.to_string();
    assert_eq!(
        text,
        "dry_run=true;levels=1,6;start=0x6B;limit=0x;max_parallel_rewrites=1;all_files=false;\
         max_bytes=65536;bytes_per_second=0;min_gain=0.500000;payback_seconds=86400.000"
    );
    assert_eq!(refresh_options(&text).to_string(), text);
    let other = options
        .set("start", "a;b")?
        .set("dry_run", false)?
        .to_string();
    assert!(other.contains(";start=0x613B62;"), "{other}");
    let open = options.set_range(None, None)?.to_string();
    assert!(open.contains(";start=;limit=;"), "{open}");

    // Names and values that are not allowed are refused, and change nothing.
    for (name, value, message) in [
        (
            "min_gain",
            "5",
            "min_gain=5 is not allowed; allowed: numbers from 0 to 1",
        ),
        (
            "gain",
            "1",
            "gain is not allowed; allowed: dry_run, levels, start",
        ),
        ("levels", "a\0b", "NUL"),
    ] {
        let refused = options.set(name, value).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
    assert!("dry_run=true;min_gain=5".parse::<RefreshOptions>().is_err());
    assert_eq!(options.to_string(), open);
    Ok(())
}

#[test]
fn refreshing() -> Result<(), Box<dyn Error>> {
    // Files that have the filters that they would get are left alone.
    drop(filled("refreshing", "surf:0:4")?);
    let db = DB::open(&options_of("surf:0:8")?, folder_of("refreshing"))?;
    let family = default_of(&db);
    let dry = refresh_options("dry_run=true;all_files=true");
    let would = |options: &RefreshOptions| {
        family
            .refresh_filters(options)
            .map(|done| done.count("files_rewritten"))
    };
    assert_eq!(would(&dry)?, SORTED_RUNS);
    for (name, value, files) in [
        ("levels", "0", SORTED_RUNS),
        ("levels", "1,6", 0),
        ("start", "0xff", 0),
        ("limit", "0x", 0),
        ("max_bytes", "1", 0),
    ] {
        assert_eq!(
            would(dry.clone().set(name, value)?)?,
            files,
            "{name}={value}"
        );
    }
    // The first keys of the runs are 0, DISTANCE and 2 * DISTANCE.
    for (limit, files) in [(2 * DISTANCE, 2), (2 * DISTANCE + 1, 3)] {
        let mut range = dry.clone();
        range.set_range(Some(&key(DISTANCE)), Some(&key(limit)))?;
        assert_eq!(would(&range)?, files);
    }

    // A refresh may be watched, and told to end.
    let mut calls = 0;
    let ended = family
        .refresh_filters_watched(&dry, |at| {
            calls += 1;
            assert_eq!(at.count("files"), SORTED_RUNS);
            assert!(at.count("bytes") > 0 && at.count("bytes_decided") <= at.count("bytes"));
            false
        })
        .unwrap_err();
    assert_eq!(calls, 1);
    assert!(ended.to_string().contains("Result incomplete: "), "{ended}");
    assert_eq!(ended.done.get("files_rewritten"), Some(0.0));
    assert_eq!(
        ended.done.list("files")[0].text("outcome"),
        Some("not reached")
    );
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        family.refresh_filters_watched(&dry, |_| std::panic::panic_any("enough"))
    }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "enough");

    let done =
        family.refresh_filters(&refresh_options("all_files=true;max_parallel_rewrites=2"))?;
    assert_eq!(done.count("files_rewritten"), SORTED_RUNS, "{done}");
    assert!(done.count("bytes_rewritten") > 0 && done.count("bytes_read") > 0);
    for file in done.list("files") {
        assert!(
            file.text("name").is_some_and(|name| name.ends_with(".sst")),
            "{file}"
        );
        assert_eq!(
            (file.get("level"), file.text("outcome")),
            (Some(0.0), Some("rewritten"))
        );
    }
    assert!(done.json().contains("\"rewritten\""), "{done}");
    for i in 0..KEYS {
        assert_eq!(
            db.get(key(i * DISTANCE))?.as_deref(),
            Some(b"value".as_slice())
        );
    }
    Ok(())
}

#[test]
fn refreshing_periodically() -> Result<(), Box<dyn Error>> {
    let db = filled("refreshing_periodically", "proteus:12")?;
    let family = default_of(&db);
    let options = refresh_options("dry_run=true");
    let (tell, told) = mpsc::channel();
    let refresher =
        family.refresh_periodically(&options, Duration::from_secs(1), None, move |outcome| {
            tell.send(outcome.map(|done| done.list("files").len()))
                .unwrap();
            panic!("this ends the reports, and nothing else");
        })?;
    let files = told.recv_timeout(Duration::from_secs(600))??;
    assert_eq!(files as u64, SORTED_RUNS);
    drop(refresher);
    assert!(
        told.recv().is_err(),
        "the thread has ended, and with it the closure"
    );
    Ok(())
}

#[test]
fn sst_files() -> Result<(), Box<dyn Error>> {
    let options = options_of("surf:0:12")?;
    let file = new_folder("file.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file)?;
    for i in 0..1_000 {
        writer.put(key(i * DISTANCE), b"value")?;
    }
    writer.finish()?;
    // SAFETY: the options live.
    let open = |options: &Options| unsafe { SstFileFilter::open(options.as_raw_ptr(), &file) };
    let filter = open(&options)?;
    let mut passed = 0;
    for i in 0..1_000 {
        let (present, absent) = (key(i * DISTANCE), key(i * DISTANCE + DISTANCE / 2));
        assert!(filter.key_may_exist(&present));
        assert!(filter.range_may_exist(Some(&present), Some(&absent)));
        passed += u32::from(filter.key_may_exist(&absent));
        passed += u32::from(filter.range_may_exist(Some(&absent), Some(&key(i * DISTANCE + 600))));
    }
    assert!(passed < 100, "{passed}");
    // Open ends, and several threads at once.
    let (first, last) = (key(0), key(999 * DISTANCE));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    assert!(filter.range_may_exist(None, Some(&last)));
                    assert!(filter.range_may_exist(Some(&last), None));
                    assert!(filter.range_may_exist(None, None));
                    assert!(!filter.range_may_exist(None, Some(&first)));
                    assert!(!filter.range_may_exist(Some(&key(999 * DISTANCE + 1)), None));
                }
            });
        }
    });
    let refused = open(&Options::default()).unwrap_err();
    assert!(refused.to_string().contains("ProteanTable"), "{refused}");
    fs::remove_file(&file)?;
    assert!(open(&options).is_err());
    Ok(())
}

/// A second DB begins with the samples of the first one of its group.
#[test]
fn sample_groups() -> Result<(), Box<dyn Error>> {
    let policy = "{id=protean.Proteus;sample_every=1}";
    let samples_of =
        |name: &str, group: &str, seeks: u64| -> Result<(Options, u64), Box<dyn Error>> {
            let options = options_of(policy)?;
            // SAFETY: these are options of RocksDB.
            unsafe { protean_rocksdb::set_sample_group(options.as_raw_ptr(), group)? };
            let db = DB::open(&options, new_folder(name))?;
            db.put(key(0), b"value")?;
            db.put(key(KEYS * DISTANCE), b"value")?;
            db.flush()?;
            for i in 0..seeks {
                let mut bounded = ReadOptions::default();
                bounded.set_iterate_upper_bound(key(i * DISTANCE + 600));
                let mut iterator = db.raw_iterator_opt(bounded);
                iterator.seek(key(i * DISTANCE + 400));
            }
            let held = default_of(&db).statistics()?.count("samples.held");
            Ok((options, held))
        };
    let (kept, first) = samples_of("group_first", "days", 200)?;
    assert!(first > 100, "{first}");
    assert_eq!(samples_of("group_second", "days", 0)?.1, first);
    assert_eq!(samples_of("group_other", "nights", 0)?.1, 0);
    drop(kept);

    // SAFETY: as above.
    let group_of = |options: &Options, group: &str| unsafe {
        protean_rocksdb::set_sample_group(options.as_raw_ptr(), group).map_err(|e| e.to_string())
    };
    assert!(group_of(&options_of(policy)?, "")
        .unwrap_err()
        .contains("empty"));
    assert!(group_of(&options_of(policy)?, "a\0b")
        .unwrap_err()
        .contains("NUL"));
    assert!(group_of(&Options::default(), "days")
        .unwrap_err()
        .contains("BlockBasedTable"));
    Ok(())
}

/// The program `examples/sensors.rs`.
#[test]
fn example() -> Result<(), Box<dyn Error>> {
    let said = sensors::run(&new_folder("example"))?;
    let readings =
        "21600 readings; 720 readings on a day; on the day and later: [true, false]; in the file: true\n";
    assert!(said.starts_with(readings), "{said}");
    assert!(said.contains("330 hours are silent"), "{said}");
    Ok(())
}

#[test]
fn other_tables_are_refused() -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, new_folder("other_table"))?;
    let family = default_of(&db);
    for refused in [
        family
            .approximate_count(None, None)
            .unwrap_err()
            .to_string(),
        family.keys_may_exist(&["key"]).unwrap_err().to_string(),
        family
            .ranges_may_exist(&[(Some("a"), Some("b"))])
            .unwrap_err()
            .to_string(),
        family
            .refresh_filters(&RefreshOptions::default())
            .unwrap_err()
            .to_string(),
    ] {
        assert!(refused.contains("ProteanTable"), "{refused}");
    }
    Ok(())
}
