//! Builds the indexes of a store anew, so that experiments that differ in the index share one load.

use std::sync::Arc;

use crate::compaction::{Context, Counters, Outcome};
use crate::db::Db;
use crate::entry::Cursor;
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::fs::ops;
use crate::table::{TableReader, TableWriter};
use crate::version::{LevelChange, Place, Table};

/// Gives each table of the default keyspace the index and layout that the keyspace has now, see
/// [`crate::Keyspace::set_options`]. The tables keep their places, and their entries with all
/// versions and sequences, so the store has the indexes that it would have if it had been built so.
///
/// Each table is written anew from its entries, since an index cannot be trained without reading
/// them, and is exchanged by one edit of the manifest. After a crash some tables have the old index
/// and others the new one; each says which. Takes the space of one table more, and one pass over the
/// data, without the log and the merges of a load and without their limit of bytes a second. Background work
/// begins no merge meanwhile; call neither `compact_range` nor this function from another thread.
///
/// # Errors
/// If a table cannot be read or written, or the store takes no writes. The store is sound then, with
/// some tables exchanged.
pub fn reindex(db: &Db) -> Result<()> {
    let (store, keyspace) = (&db.handle.store, db.state());
    let _quiet = store.await_quiet(keyspace)?;
    let before = keyspace.view.load().levels.clone();
    let numbers: Vec<u64> = before.tables().map(|(_, t)| t.meta.number).collect();
    drop(before);
    for number in numbers {
        // Only this table is held, so that the files of those before it can be deleted.
        let levels = keyspace.view.load().levels.clone();
        let found = levels.tables().find(|(_, t)| t.meta.number == number);
        let Some((place, table)) = found.map(|(place, table)| (place, Arc::clone(table))) else {
            continue;
        };
        drop(levels);
        let outcome = store.with_context(keyspace, &Counters::default(), &|_| {}, |context| {
            rewrite(context, place, &table)
        })?;
        store.install(keyspace, &outcome, None, |_| {})?;
        drop(table);
        store.collect_garbage();
    }
    while store.renew_level_models()? {}
    Ok(())
}

/// Writes a table anew, for its place.
fn rewrite(context: &Context<'_>, place: Place, table: &Table) -> Result<Outcome> {
    let (files, meta) = (context.files, &table.meta);
    let map = context.maps.get(&meta.map_number).ok_or_else(|| {
        let expected = format!("key map {} in the manifest", meta.map_number);
        Error::corruption(&files.table_path(meta.number), 0, expected, "none")
    })?;
    let settings = context.table_settings((meta.map_number, Arc::clone(map)));
    let reader = table.reader()?;
    let number = files.new_number();
    let mut writer = TableWriter::create(&files.fs, &files.dir, number, &settings)?;
    let made = copy_entries(reader, &mut writer).and_then(|()| {
        writer.set_value_files(|file| context.value_files.meta_of(file))?;
        let made = writer.finish(reader.range_deletes())?.summary;
        ops::sync_dir(&*files.fs, &files.dir)?;
        Ok(made)
    });
    let made = made.inspect_err(|_| files.delete(FileKind::Table, number))?;
    Ok(Outcome {
        levels: LevelChange {
            adds: vec![(place, made)],
            removes: vec![(place.level, meta.number)],
        },
        maps: vec![(meta.map_number, Arc::clone(map))],
        value_files: Vec::new(),
    })
}

fn copy_entries(reader: &Arc<TableReader>, writer: &mut TableWriter) -> Result<()> {
    let mut cursor = reader.cursor(false);
    cursor.seek_first()?;
    while let Some(here) = cursor.here() {
        writer.add(here.key, here.sequence, here.kind, cursor.value_bytes())?;
        cursor.next()?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::fs::{FileSystem, MemoryFileSystem};
    use crate::options::{KeyspaceOptions, Levels, Options};
    use crate::test_seed::test_seed;
    use crate::{Snapshot, inspect};

    type Content = BTreeMap<Vec<u8>, Vec<u8>>;

    fn options(disk: &MemoryFileSystem) -> Options {
        Options {
            file_system: Arc::new(disk.clone()),
            levels: Levels {
                // No merge but those that are asked for, so that two stores get the same tables.
                level0_tables: 100,
                ..Levels::default()
            },
            ..Options::in_memory()
        }
    }

    fn layout(index: &str, table: &str) -> KeyspaceOptions {
        KeyspaceOptions {
            index: Some(index.parse().unwrap()),
            table: Some(table.parse().unwrap()),
        }
    }

    fn key(number: u64) -> [u8; 8] {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
    }

    /// Fills a store with tables in two levels, and with versions that the snapshot sees. Returns
    /// what it holds, and what the snapshot sees.
    fn fill(db: &Db, seed: u64, equal: bool) -> (Content, (Snapshot, Content)) {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut content, mut held) = (Content::new(), None);
        for step in 0..6_000u64 {
            let key = key(rng.random_range(0..3_000));
            let value = vec![step as u8; if equal { 12 } else { rng.random_range(0..40) }];
            match rng.random_range(0..60) {
                0 if !equal => {
                    db.delete(key).unwrap();
                    content.remove(&key[..]);
                }
                1 if !equal => {
                    let mut end = key;
                    end[1] = end[1].saturating_add(1);
                    db.delete_range(key..end).unwrap();
                    content.retain(|k, _| !(&key[..]..&end[..]).contains(&&k[..]));
                }
                _ => {
                    db.put(key, &value).unwrap();
                    content.insert(key.to_vec(), value);
                }
            }
            match step {
                3_000 => db.compact_range(None, None).unwrap(),
                3_500 => held = Some((db.snapshot(), content.clone())),
                4_000 | 5_000 => db.flush().unwrap(),
                _ => {}
            }
        }
        db.flush().unwrap();
        (content, held.unwrap())
    }

    fn read_all(db: &Db, content: &Content) {
        let forward = db.iter().unwrap().map(|entry| entry.unwrap());
        let forward: Vec<_> = forward.map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        assert!(forward.iter().map(|(k, v)| (k, v)).eq(content.iter()));
        let back = db
            .iter()
            .unwrap()
            .rev()
            .map(|entry| entry.unwrap().0.to_vec());
        assert!(back.eq(content.keys().rev().cloned()));
        for number in 0..3_100 {
            let found = db.get(key(number)).unwrap();
            assert_eq!(
                found.as_deref(),
                content.get(&key(number)[..]).map(|v| &v[..])
            );
        }
    }

    /// Each table's place and its sections with directory, index, filter and key map.
    fn finders(db: &Db, disk: &MemoryFileSystem) -> Vec<(usize, Vec<Vec<u8>>)> {
        let levels = db.state().view.load().levels.clone();
        let sections = |table: &Table| {
            let bytes = disk.bytes(&table.path()).unwrap();
            let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            let footer = bytes.len() - 48;
            let rows = (number(footer + 16) as usize..footer).step_by(32);
            let found = rows.filter(|row| [1, 2, 3, 5].contains(&bytes[*row]));
            let part = |row: usize| {
                let (start, length) = (number(row + 8) as usize, number(row + 16) as usize);
                bytes[start..start + length].to_vec()
            };
            found.map(part).collect()
        };
        let tables = levels.tables();
        tables
            .map(|(place, table)| (place.level, sections(table)))
            .collect()
    }

    #[test]
    fn a_store_gets_the_indexes_that_it_would_have_been_built_with() {
        let seed = test_seed();
        for (case, (from, to, table)) in [
            ("fp", "pgm:boundary=16", "partition=entries(1),size=16KiB"),
            (
                "pgm:boundary=64",
                "pgm:boundary=8",
                "partition=entries(1),size=16KiB",
            ),
            ("plr:boundary=32", "fp", "partition=entries(8),size=16KiB"),
            ("alex", "rmi:boundary=64", "partition=entries(4),size=1MiB"),
            ("lits", "btree", "partition=bytes(1024),filter=0,size=16KiB"),
            ("plr", "fp-raw", "partition=predicted"),
            ("fp", "plr", "partition=predicted,compression=lz4"),
        ]
        .into_iter()
        .enumerate()
        {
            let context = format!("seed {seed}, {from} to {to}, {table}");
            let stores = [from, to].map(|index| {
                let disk = MemoryFileSystem::new();
                let db = Db::open("store", options(&disk)).unwrap();
                db.set_options(layout(index, table)).unwrap();
                (db, disk)
            });
            let [(db, disk), (other, other_disk)] = stores;
            let (content, (snapshot, seen)) = fill(&db, seed, case % 2 == 0);
            let (_, _other_seen) = fill(&other, seed, case % 2 == 0);
            assert_ne!(
                finders(&db, &disk),
                finders(&other, &other_disk),
                "{context}"
            );
            db.set_options(layout(to, table)).unwrap();
            reindex(&db).unwrap();
            let expected = finders(&other, &other_disk);
            assert!(expected.len() > 3, "{context}");
            assert!(finders(&db, &disk) == expected, "{context}");
            read_all(&db, &content);
            for (key, value) in &seen {
                let found = snapshot.get(&db, key).unwrap();
                assert_eq!(found.as_deref(), Some(&value[..]), "{context}");
            }
            drop(snapshot);
            db.close().unwrap();
            let files = disk.list(Path::new("store")).unwrap();
            let tables = files.iter().filter(|name| name.ends_with(".table"));
            assert_eq!(tables.count(), expected.len(), "{context}");
            let report = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {});
            assert!(report.unwrap().damage.is_empty(), "{context}");
            let db = Db::open("store", options(&disk)).unwrap();
            assert!(finders(&db, &disk) == expected, "{context}");
            read_all(&db, &content);
        }
    }

    /// Another layout needs no load either; and after it the store takes writes as before.
    #[test]
    fn a_store_gets_another_layout() {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk)).unwrap();
        let (mut content, _) = fill(&db, test_seed(), true);
        for table in [
            "partition=entries(1)",
            "partition=bytes(512)",
            "partition=predicted",
        ] {
            db.set_options(layout("plr:boundary=8", table)).unwrap();
            reindex(&db).unwrap();
            read_all(&db, &content);
            db.put(key(7), table).unwrap();
            content.insert(key(7).to_vec(), table.as_bytes().to_vec());
            db.flush().unwrap();
            db.compact_range(None, None).unwrap();
            read_all(&db, &content);
        }
    }
}
