//! The manifest, the state that results from it, and the levels.

mod edits;
mod levels;
mod manifests;
mod states;

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::fs::{FileSystem, MemoryFileSystem};

/// A table of keys from `smallest` to `largest`.
fn table(number: u64, smallest: &str, largest: &str) -> TableMeta {
    TableMeta {
        number,
        file_bytes: 1000,
        sections_offset: 900,
        table_id: number.wrapping_mul(0x1234_5678_9abc_def1),
        entries: 10,
        deletes: 1,
        range_deletes: 0,
        smallest: smallest.as_bytes().into(),
        largest: largest.as_bytes().into(),
        largest_excluded: false,
        smallest_sequence: number,
        largest_sequence: number.saturating_add(5),
        map_number: 0,
        index_kind: "plr".to_string(),
        values: Vec::new(),
        hides: 0,
    }
}

fn map(keys: &[&str]) -> Vec<u8> {
    let mut builder = rhumb_index::KeyMapBuilder::new();
    keys.iter().for_each(|key| builder.push(key.as_bytes()));
    builder.build().to_bytes()
}

fn add(level: usize, table: TableMeta) -> Change {
    // As by a flush at level 0, and by leveled compaction elsewhere.
    let run = if level == 0 { table.number } else { BASE_RUN };
    add_at(level, run, table)
}

fn add_at(level: usize, run: u64, table: TableMeta) -> Change {
    Change::AddTable {
        keyspace: 1,
        place: Place { level, run },
        table,
    }
}

fn remove(level: u8, number: u64) -> Change {
    Change::RemoveTable {
        keyspace: 1,
        level,
        number,
    }
}

/// A directory without tables.
fn files() -> Arc<Files> {
    let fs = MemoryFileSystem::default();
    fs.create_dir(Path::new("/store")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    Files::uncached(&fs, Path::new("/store")).unwrap()
}

/// A state with keyspace 1 and key map 0, which table 1 uses.
fn begun() -> State {
    let mut state = State::new(&files());
    let changes = vec![
        Change::CreateKeyspace {
            id: 1,
            name: "default".to_string(),
        },
        Change::KeyMap {
            keyspace: 1,
            number: 0,
            map: map(&["a", "z"]),
        },
        add(6, table(1, "zz1", "zz2")),
    ];
    state.apply(&changes.into()).unwrap();
    state
}
