// SPDX-License-Identifier: Apache-2.0

//! Protean in the RocksDB of the rocksdb crate: it is registered, chosen by an options string and
//! by an OPTIONS file, answers as a BTreeMap does, and its filters keep seeks from reading.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::ops::Bound;
use std::path::PathBuf;

use rocksdb::perf::{set_perf_stats, PerfContext, PerfMetric, PerfStatsLevel};
use rocksdb::statistics::Ticker;
use rocksdb::{Cache, Env, Options, ReadOptions, DB};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const SORTED_RUNS: u64 = 3;
const KEYS: u64 = 30_000;
/// Between two keys; half of this is what a range spans.
const DISTANCE: u64 = 1_000;

/// A folder that no other test uses, and that is not there yet.
fn new_folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Writes sorted runs, each with keys of the whole key space.
fn fill(db: &DB) -> Result<Model, rocksdb::Error> {
    let mut model = Model::new();
    for run in 0..SORTED_RUNS {
        for i in (run..KEYS).step_by(SORTED_RUNS as usize) {
            let value = format!("record {i} {}", "x".repeat(100)).into_bytes();
            db.put(key(i * DISTANCE), &value)?;
            model.insert(key(i * DISTANCE), value);
        }
        db.flush()?;
    }
    Ok(model)
}

/// What a test has seen of the reads.
struct Reads {
    empty: u64,
    filtered: u64,
    blocks: u64,
}

/// Seeks in ranges of which every other one is empty, and compares all that they hold with the
/// model's.
fn read_ranges(db: &DB, options: &Options, model: &Model) -> Result<Reads, rocksdb::Error> {
    let count_filtered = || {
        options.get_ticker_count(Ticker::LastLevelSeekFiltered)
            + options.get_ticker_count(Ticker::NonLastLevelSeekFiltered)
    };
    let (mut empty, mut filtered, mut blocks) = (0, 0, 0);
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut perf = PerfContext::default();
    for i in 0..2 * KEYS {
        // After a key, or around it.
        let begin = i / 2 * DISTANCE
            + if i % 2 == 0 {
                DISTANCE / 4
            } else {
                3 * DISTANCE / 4
            };
        let (begin, end) = (key(begin), key(begin + DISTANCE / 2));
        let expected: Vec<_> = model
            .range::<Vec<u8>, _>((Bound::Included(&begin), Bound::Excluded(&end)))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let mut bounded = ReadOptions::default();
        bounded.set_iterate_upper_bound(end);
        perf.reset();
        let filtered_before = count_filtered();
        let mut found = Vec::new();
        let mut iterator = db.raw_iterator_opt(bounded);
        iterator.seek(&begin);
        while let Some((k, v)) = iterator.item() {
            found.push((k.to_vec(), v.to_vec()));
            iterator.next();
        }
        iterator.status()?;
        assert_eq!(found, expected, "range {i}");
        if expected.is_empty() {
            empty += 1;
            filtered += count_filtered() - filtered_before;
            blocks += perf.metric(PerfMetric::BlockReadCount)
                + perf.metric(PerfMetric::BlockCacheHitCount);
        }
    }
    set_perf_stats(PerfStatsLevel::Disable);
    Ok(Reads {
        empty,
        filtered,
        blocks,
    })
}

/// Reads in a DB of sorted runs with filters of 14 bits per key.
fn check_filters(db: &DB, options: &Options, model: &Model) -> Result<(), rocksdb::Error> {
    let reads = read_ranges(db, options, model)?;
    let asked = reads.empty * SORTED_RUNS;
    println!(
        "{} of {asked} looks into a file were filtered; {} blocks for {} empty ranges",
        reads.filtered, reads.blocks, reads.empty
    );
    assert!(reads.empty >= KEYS);
    assert!(reads.filtered > asked * 95 / 100);
    for i in 0..KEYS {
        assert_eq!(
            db.get(key(i * DISTANCE))?.as_ref(),
            model.get(&key(i * DISTANCE))
        );
        assert_eq!(db.get(key(i * DISTANCE + 1))?, None);
    }
    Ok(())
}

/// The newest OPTIONS file that RocksDB has written into a DB's folder.
fn written_options(folder: &PathBuf) -> std::io::Result<String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("OPTIONS-") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    fs::read_to_string(paths.last().expect("RocksDB writes an OPTIONS file"))
}

#[test]
fn registers_once() {
    assert_eq!(protean_rocksdb::register(), Ok(()));
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(protean_rocksdb::register))
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Ok(()));
    }
}

#[test]
fn options_string() -> Result<(), Box<dyn Error>> {
    protean_rocksdb::register()?;
    let folder = new_folder("options_string");
    let mut options = Options::default().get_options_from_string(
        "create_if_missing=true;disable_auto_compactions=true;\
         table_factory={id=ProteanTable;filter_policy=proteus:14}",
    )?;
    options.enable_statistics();
    let db = DB::open(&options, &folder)?;
    let model = fill(&db)?;
    check_filters(&db, &options, &model)?;

    let written = written_options(&folder)?;
    assert!(written.contains("table_factory=ProteanTable"), "{written}");
    assert!(written.contains("bits_per_key=14"), "{written}");

    // RocksDB has written down the options; they are read as they were.
    drop(db);
    let (mut options, families) =
        Options::load_latest(&folder, Env::new()?, false, Cache::new_lru_cache(1 << 20))?;
    options.enable_statistics();
    let db = DB::open_cf_descriptors(&options, &folder, families)?;
    check_filters(&db, &options, &model)?;
    assert!(written_options(&folder)?.contains("bits_per_key=14"));

    // A stock table reads the files as ever.
    drop(db);
    let mut options = Options::default();
    options.enable_statistics();
    let db = DB::open(&options, &folder)?;
    assert_eq!(read_ranges(&db, &options, &model)?.filtered, 0);
    Ok(())
}

#[test]
fn options_file() -> Result<(), Box<dyn Error>> {
    protean_rocksdb::register()?;
    // A file that an application brings along, in a folder of its own.
    let configuration = new_folder("options_file.conf");
    fs::create_dir_all(&configuration)?;
    fs::write(
        configuration.join("OPTIONS-000001"),
        "[Version]\n\
         rocksdb_version=11.8.1\n\
         options_file_version=1.1\n\
         [DBOptions]\n\
         create_if_missing=true\n\
         [CFOptions \"default\"]\n\
         disable_auto_compactions=true\n\
         table_factory=ProteanTable\n\
         [TableOptions/ProteanTable \"default\"]\n\
         block_size=8192\n\
         filter_policy=surf:0:8\n",
    )?;
    let cache = Cache::new_lru_cache(64 << 20);
    let (mut options, families) = Options::load_latest(&configuration, Env::new()?, false, cache)?;
    options.enable_statistics();
    let folder = new_folder("options_file");
    let db = DB::open_cf_descriptors(&options, &folder, families)?;
    let model = fill(&db)?;
    check_filters(&db, &options, &model)?;
    let written = written_options(&folder)?;
    assert!(
        written.contains("[TableOptions/ProteanTable \"default\"]"),
        "{written}"
    );
    assert!(written.contains("block_size=8192"), "{written}");
    assert!(written.contains("protean.SuRF"), "{written}");
    Ok(())
}

#[test]
fn policies_with_all_their_options() -> Result<(), Box<dyn Error>> {
    protean_rocksdb::register()?;
    for (policy, written_as) in [
        ("surf:0:4:8", "prefix_suffix_bits=8"),
        (
            "{id=protean.Proteus;bits_per_key=20;point_lookups_use_whole_keys=true}",
            "point_lookups_use_whole_keys=true",
        ),
    ] {
        let folder = new_folder("policies");
        let mut options = Options::default().get_options_from_string(format!(
            "create_if_missing=true;disable_auto_compactions=true;\
             table_factory={{id=ProteanTable;filter_policy={policy}}}"
        ))?;
        options.enable_statistics();
        let db = DB::open(&options, &folder)?;
        let model = fill(&db)?;
        let written = written_options(&folder)?;
        assert!(written.contains(written_as), "{written}");
        let reads = read_ranges(&db, &options, &model)?;
        assert!(reads.filtered > reads.empty * SORTED_RUNS / 2, "{policy}");
        for i in 0..KEYS {
            let stored = key(i * DISTANCE);
            assert_eq!(db.get(&stored)?.as_ref(), model.get(&stored), "{policy}");
        }
    }
    Ok(())
}

#[test]
fn mistakes_are_errors() -> Result<(), Box<dyn Error>> {
    protean_rocksdb::register()?;
    for mistake in [
        "filter_policy=proteus:many",
        "filter_policy=surf:99:99",
        "filter_policy=surf:0:0:17",
        "filter_policy={id=protean.Proteus;points=some}",
        "no_such_option=1",
    ] {
        let text = format!("table_factory={{id=ProteanTable;{mistake}}}");
        assert!(
            Options::default().get_options_from_string(text).is_err(),
            "{mistake}"
        );
    }
    Ok(())
}
