//! A keyspace keeps options of its own, and its new tables are made by them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb::fs::{
    Fault, FaultAt, FaultyFileSystem, FileCall, FileSystem, MemoryFileSystem, Plan, Site,
};
use rhumb::{
    Compression, Db, Error, Keyspace, KeyspaceOptions, Options, Partition, TableSpec, inspect,
};

fn with(index: &str, table: &str) -> KeyspaceOptions {
    KeyspaceOptions {
        index: (!index.is_empty()).then(|| index.parse().unwrap()),
        table: (!table.is_empty()).then(|| table.parse().unwrap()),
    }
}

fn fill(keyspace: &Keyspace, from: u64) {
    for n in from..from + 300 {
        let value = "again ".repeat(20);
        keyspace.put((n * n).to_be_bytes(), value).unwrap();
    }
    keyspace.flush().unwrap();
}

/// The index kinds of the keyspace's tables, with how many have each.
fn kinds(db: &Db, name: &str) -> Vec<(String, u64)> {
    let stats = db.stats().unwrap();
    let found = stats.keyspaces.iter().find(|k| k.name == name).unwrap();
    found.index_kinds.clone().into_iter().collect()
}

fn bytes(db: &Db, name: &str) -> u64 {
    let stats = db.stats().unwrap();
    let found = stats.keyspaces.iter().find(|k| k.name == name).unwrap();
    found.levels.iter().map(|level| level.bytes).sum()
}

/// A disk, and options to open a store on it.
fn disk() -> (MemoryFileSystem, Options) {
    let disk = MemoryFileSystem::new();
    let options = Options {
        file_system: Arc::new(disk.clone()),
        ..Options::in_memory()
    };
    (disk, options)
}

/// The last file whose name ends so, and its bytes.
fn last_file(disk: &MemoryFileSystem, ending: &str) -> (PathBuf, Vec<u8>) {
    let dir = Path::new("store");
    let names = disk.list(dir).unwrap();
    let path = dir.join(names.iter().rfind(|n| n.ends_with(ending)).unwrap());
    let bytes = disk.bytes(&path).unwrap();
    (path, bytes)
}

/// The version that the last manifest claims.
fn manifest_version(disk: &MemoryFileSystem) -> u32 {
    let (_, bytes) = last_file(disk, ".manifest");
    u32::from_le_bytes(bytes[8..12].try_into().unwrap())
}

#[test]
fn new_tables_are_made_by_the_options_of_their_keyspace() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    assert_eq!(db.options().unwrap(), KeyspaceOptions::default());
    let set = with("fp", "compression=lz4");
    let packed = db.create_keyspace_with("packed", set.clone()).unwrap();
    let plain = db.create_keyspace("plain").unwrap();
    fill(&packed, 0);
    fill(&plain, 0);
    assert_eq!(kinds(&db, "packed"), [("fp".to_string(), 1)]);
    assert_eq!(kinds(&db, "plain"), [("plr".to_string(), 1)]);
    assert!(bytes(&db, "packed") * 2 < bytes(&db, "plain"));

    // From the next table on; what is there stays until it is merged.
    plain.set_options(with("pgm:boundary=8", "")).unwrap();
    db.set_options(with("radix-spline", "")).unwrap();
    fill(&plain, 300);
    fill(&db, 0);
    let both = [("pgm".to_string(), 1), ("plr".to_string(), 1)];
    assert_eq!(kinds(&db, "plain"), both);
    assert_eq!(kinds(&db, "default"), [("radix-spline".to_string(), 1)]);
    plain.compact_range(None, None).unwrap();
    assert_eq!(kinds(&db, "plain")[0].0, "pgm");
    assert_eq!(kinds(&db, "plain").len(), 1);
    assert_eq!(packed.options().unwrap(), set);
    drop((packed, plain));
    db.close().unwrap();

    // With other options of the store.
    let other = Options {
        index: "plex".parse().unwrap(),
        ..options.clone()
    };
    let db = Db::open("store", other).unwrap();
    assert_eq!(db.options().unwrap(), with("radix-spline", ""));
    assert_eq!(db.keyspace("packed").unwrap().options().unwrap(), set);
    let plain = db.keyspace("plain").unwrap();
    assert_eq!(plain.options().unwrap(), with("pgm:boundary=8", ""));
    plain.set_options(KeyspaceOptions::default()).unwrap();
    // Over all that is there, so that it is merged again.
    fill(&plain, 0);
    fill(&plain, 300);
    plain.compact_range(None, None).unwrap();
    assert_eq!(kinds(&db, "plain")[0].0, "plex");
    assert_eq!(kinds(&db, "plain").len(), 1);
    for name in ["default", "packed", "plain"] {
        assert!(db.keyspace(name).unwrap().iter().unwrap().count() >= 300);
    }
}

/// Logs are begun ahead in every store that is written to.
#[test]
fn manifests_of_open_stores_are_of_the_second_version() {
    let (disk, options) = disk();
    for _ in 0..2 {
        let db = Db::open("store", options.clone()).unwrap();
        assert_eq!(manifest_version(&disk), 2);
        db.set_options(with("fp", "")).unwrap();
        assert_eq!(manifest_version(&disk), 2);
    }
}

/// The site of the sync that makes the new name of `CURRENT` durable.
fn sync_of_current(faulty: &FaultyFileSystem) -> Site {
    let mut sites = faulty.sites().into_keys();
    let found =
        sites.find(|s| s.file.ends_with("db/upkeep/install.rs") && s.call == FileCall::SyncDir);
    found.unwrap()
}

/// `CURRENT` names the new manifest then, and no later change may go to the old one.
#[test]
fn a_manifest_that_could_not_be_replaced_takes_no_more_changes() {
    let upgrade = |faulty: &FaultyFileSystem| {
        let options = Options {
            file_system: Arc::new(faulty.clone()),
            // A manifest that has grown by more is replaced.
            write_buffer_bytes: 4 << 10,
            ..Options::in_memory()
        };
        let db = Db::open("store", options).unwrap();
        let before = db.create_keyspace("before").unwrap();
        let index = |n: usize| with(["fp", "plr"][n % 2], "");
        let done = (0..300).try_for_each(|n| before.set_options(index(n)));
        fill(&before, 0);
        (db, done)
    };
    let rehearsal = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
    upgrade(&rehearsal).1.unwrap();
    let site = sync_of_current(&rehearsal);

    let (disk, options) = disk();
    let plan = Plan {
        fault: Some((FaultAt::Site(site), Fault::NoSpace)),
        ..Plan::default()
    };
    let faulty = FaultyFileSystem::new(Arc::new(disk), plan);
    let (db, done) = upgrade(&faulty);
    let error = done.unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert_eq!(faulty.faults(), 1);
    fill(&db.create_keyspace("after").unwrap(), 0);
    fill(&db.keyspace("before").unwrap(), 300);
    db.close().unwrap();

    let db = Db::open("store", options).unwrap();
    assert_eq!(db.keyspaces(), ["after", "before", "default"]);
    for (name, keys) in [("after", 300), ("before", 600)] {
        assert_eq!(db.keyspace(name).unwrap().iter().unwrap().count(), keys);
    }
}

#[test]
fn options_go_with_their_keyspace() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let set = with("fp", "");
    let first = db.create_keyspace_with("k", set.clone()).unwrap();
    db.drop_keyspace("k").unwrap();
    let gone = |e: Error| assert!(matches!(e, Error::NoSuchKeyspace(_)), "{e}");
    gone(first.options().unwrap_err());
    gone(first.set_options(set.clone()).unwrap_err());
    let second = db.create_keyspace("k").unwrap();
    assert_eq!(second.options().unwrap(), KeyspaceOptions::default());
    gone(first.set_options(set).unwrap_err());
}

#[test]
fn options_are_checked_at_the_call() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let spec = TableSpec::default();
    let wrong = [
        TableSpec {
            filter_bits_per_key: 65,
            ..spec.clone()
        },
        TableSpec {
            partition: Partition::Entries(0),
            ..spec.clone()
        },
        TableSpec {
            table_bytes: 1023,
            ..spec.clone()
        },
        #[cfg(not(feature = "zstd"))]
        TableSpec {
            compression: Compression::Zstd,
            ..spec.clone()
        },
    ];
    for table in wrong {
        let set = KeyspaceOptions {
            table: Some(table),
            ..KeyspaceOptions::default()
        };
        let refused = [
            db.create_keyspace_with("k", set.clone()).map(drop),
            db.set_options(set),
        ];
        for error in refused.map(Result::unwrap_err) {
            assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        }
        assert_eq!(db.options().unwrap(), KeyspaceOptions::default());
    }
    assert_eq!(db.keyspaces(), ["default"]);
    // More than a block can hold is as many as it can.
    let most = with("", "partition=entries(65535)");
    let more = KeyspaceOptions {
        table: Some(TableSpec {
            partition: Partition::Entries(1 << 20),
            ..spec
        }),
        ..KeyspaceOptions::default()
    };
    assert_eq!(Compression::None, most.table.as_ref().unwrap().compression);
    db.set_options(more).unwrap();
    assert_eq!(db.options().unwrap(), most);
    db.close().unwrap();

    let db = Db::open_read_only("store", options).unwrap();
    assert_eq!(db.options().unwrap(), most);
    let error = db.set_options(KeyspaceOptions::default()).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
}

#[test]
fn tools_know_of_options() {
    let (disk, options) = disk();
    let db = Db::open("store", options.clone()).unwrap();
    let set = with("fp", "filter=0");
    let keyspace = db.create_keyspace_with("k", set.clone()).unwrap();
    fill(&keyspace, 0);
    let stats = db.stats().unwrap();
    let told: Vec<_> = stats.keyspaces.iter().map(|k| k.options.clone()).collect();
    assert_eq!(told, [KeyspaceOptions::default(), set.clone()]);
    drop((keyspace, db));

    let dir = Path::new("store");
    let report = inspect::verify(dir, &options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    let mut text = Vec::new();
    inspect::dump(&last_file(&disk, ".manifest").0, &options, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("keyspace 1: options: index fp, table partition=predicted,filter=0"));

    // A table that has to be made anew is made by the options of its keyspace, which stay.
    let (table, mut bytes) = last_file(&disk, ".table");
    bytes[10] ^= 1;
    disk.set_bytes(&table, bytes).unwrap();
    let report = inspect::repair(dir, &options, &mut |_| {}).unwrap();
    assert_eq!(report.tables_rewritten, 1, "{report:?}");
    let db = Db::open("store", options).unwrap();
    assert_eq!(db.keyspace("k").unwrap().options().unwrap(), set);
    assert_eq!(kinds(&db, "k"), [("fp".to_string(), 1)]);
}
