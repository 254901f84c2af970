//! Tests of whole tables, in memory.

mod damage;
mod directory;
mod dual;
mod even;
mod exact;
mod fence_keys;
mod given;
mod hostile;
mod kept;
mod key_maps;
mod learned;
mod next_blocks;
mod placed;
mod read_ahead;
mod round_trip;
mod shifting;
mod together;
mod units;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use rhumb_index::KeyMapBuilder;

use super::{
    BlockSource, GetTrace, NumberCache, TableReader, TableSettings, TableWriter, hash_key,
};
use crate::entry::cursor_checks::Model;
use crate::entry::{EntryKind, RangeDeletes, Sequence, Version};
use crate::error::Result;
use crate::fs::{Access, FileSystem, MemoryFileSystem};
use crate::memory::BlockCache;
use crate::table::form::summary::TableMeta;
use crate::table::{Asked, OpenAs};
use crate::test_seed::test_seed;

const KINDS: [&str; 20] = [
    "fp",
    "fp:boundary=16",
    "fp-raw",
    "plr",
    "plr:boundary=8",
    "plr:boundary=64",
    "rmi:leaves=9",
    "rmi:boundary=64",
    "alex",
    "lipp",
    "dili",
    "lits",
    "nfl",
    "btree",
    "pla",
    "pla:error=1",
    "pra",
    "rss",
    "rss:chunk=8",
    "rss:over=keys,error=8",
];
const PARTITIONS: [&str; 12] = [
    "predicted",
    "predicted(1)",
    "predicted(5)",
    "predicted(100)",
    "bytes(512)",
    "bytes(4096)",
    "bytes(1)",
    "dual(400)",
    "dual(4096)",
    "entries(1)",
    "entries(7)",
    "entries(40)",
];

fn settings(index: &str, spec: &str, model: &Model) -> TableSettings {
    let mut map = KeyMapBuilder::new();
    model.keys().for_each(|(key, _)| map.push(key));
    TableSettings {
        keyspace: Some(5),
        given_sequence: false,
        spec: spec.parse().unwrap(),
        index: index.parse().unwrap(),
        map: Arc::new(map.build()),
        map_number: 3,
        chosen: String::new(),
    }
}

fn random_settings(rng: &mut StdRng, model: &Model) -> TableSettings {
    let partition = PARTITIONS[rng.random_range(0..PARTITIONS.len())];
    let compression = ["none", "lz4"][rng.random_range(0..2)];
    let filter = [0, 10][rng.random_range(0..2)];
    let spec = format!("partition={partition},compression={compression},filter={filter}");
    settings(KINDS[rng.random_range(0..KINDS.len())], &spec, model)
}

fn random_bytes(rng: &mut StdRng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A random way to make keys from numbers, so that keys have all kinds of shapes.
fn key_maker(rng: &mut StdRng) -> impl Fn(u64) -> Vec<u8> + use<> {
    let shape = rng.random_range(0..5);
    move |n: u64| match shape {
        0 => n.to_be_bytes().to_vec(),
        1 => format!("user{n:012}").into_bytes(),
        2 => format!("/usr/share/{}/{}/{n}", n % 7, n % 31).into_bytes(),
        3 => n.to_be_bytes()[8 - (n % 9) as usize..].to_vec(),
        _ => format!("{:0>1$}", n % 1000, 1 + (n / 1000) as usize % 300).into_bytes(),
    }
}

/// Random entries: keys of one shape, sometimes with versions and deletes, with values of one or
/// many sizes.
fn random_model(rng: &mut StdRng) -> Model {
    if rng.random_bool(0.2) {
        return random_equal_entries(rng);
    }
    let make_key = key_maker(rng);
    let keys = rng.random_range(1..400);
    let spread = 1 << rng.random_range(9..20);
    let versions = [1, 1, 3, 200][rng.random_range(0..4)];
    let deletes = [0.0, 0.01, 0.3, 1.0][rng.random_range(0..4)];
    let fixed = rng.random::<bool>();
    let value_len = [0, 8, 100, 1000][rng.random_range(0..4)];
    let mut model = Model::new();
    for _ in 0..keys {
        let key = make_key(rng.random_range(0..spread));
        for _ in 0..rng.random_range(0..versions) + 1 {
            let sequence = rng.random_range(1..100_000);
            let delete = rng.random_bool(deletes);
            let len = if fixed {
                value_len
            } else {
                rng.random_range(0..=value_len)
            };
            let (kind, value) = match delete {
                true => (EntryKind::Delete, Vec::new()),
                false => (EntryKind::Put, random_bytes(rng, len)),
            };
            model.insert((key.clone(), std::cmp::Reverse(sequence)), (kind, value));
        }
    }
    model
}

/// Random entries of one size, one version a key; sometimes one entry differs.
fn random_equal_entries(rng: &mut StdRng) -> Model {
    let (keys, value_len) = (rng.random_range(1..400), rng.random_range(0..40));
    let sequences = 1 << [0, 0, 7, 16][rng.random_range(0..4)];
    let mut model = Model::new();
    let mut key = 0u64;
    for _ in 0..keys {
        key += rng.random_range(1..1_000);
        let sequence = rng.random_range(0..sequences);
        let value = random_bytes(rng, value_len);
        let place = (key.to_be_bytes().to_vec(), std::cmp::Reverse(sequence));
        model.insert(place, (EntryKind::Put, value));
    }
    if rng.random_bool(0.3) {
        let odd = rng.random_range(0..=key).to_be_bytes().to_vec();
        let place = (odd, std::cmp::Reverse(90_000));
        model.insert(place, (EntryKind::Delete, Vec::new()));
    }
    model
}

fn random_ranges(rng: &mut StdRng) -> RangeDeletes {
    let mut ranges = RangeDeletes::default();
    let make_key = key_maker(rng);
    for _ in 0..rng.random_range(0..4) {
        let (a, b) = (
            make_key(rng.random_range(0..5000)),
            make_key(rng.random_range(0..5000)),
        );
        ranges.insert((&a).min(&b), (&a).max(&b), rng.random_range(1..100_000));
    }
    ranges
}

fn add_all(writer: &mut TableWriter, model: &Model) {
    for ((key, sequence), (kind, value)) in model {
        writer.add(key, sequence.0, *kind, value).unwrap();
    }
}

/// A table in a file system of its own.
struct TestTable {
    fs: Arc<MemoryFileSystem>,
    path: PathBuf,
    summary: TableMeta,
}

impl TestTable {
    fn new(settings: &TableSettings, model: &Model, ranges: &RangeDeletes) -> TestTable {
        let fs = Arc::new(MemoryFileSystem::new());
        let dynamic: Arc<dyn FileSystem> = fs.clone();
        let mut writer = TableWriter::create(&dynamic, Path::new("/"), 7, settings).unwrap();
        add_all(&mut writer, model);
        let summary = writer.finish(ranges).unwrap().summary;
        let path = PathBuf::from("/000007.table");
        TestTable { fs, path, summary }
    }

    /// Why the table has fence pointers in place of the wanted index; empty if it has not.
    fn fallback(&self) -> String {
        let table = self.open(0).unwrap();
        let why = table.properties().text("index.fallback");
        why.unwrap().to_string()
    }

    fn bytes(&self) -> Vec<u8> {
        self.fs.bytes(&self.path).unwrap()
    }

    fn set_bytes(&self, bytes: &[u8]) {
        self.fs.set_bytes(&self.path, bytes.to_vec()).unwrap();
    }

    fn open(&self, cache_bytes: u64) -> Result<Arc<TableReader>> {
        let (len, sections) = (self.summary.file_bytes, self.summary.sections_offset);
        let open_as = OpenAs::buffered(Arc::new(BlockCache::new(cache_bytes)?));
        TableReader::open(&*self.fs, &self.path, 7, len, sections, open_as).map(Arc::new)
    }

    fn open_any(&self) -> Result<Arc<TableReader>> {
        let open_as = OpenAs::buffered(Arc::new(BlockCache::new(1 << 20)?));
        TableReader::open_any(&*self.fs, &self.path, 7, open_as).map(Arc::new)
    }
}

/// The answer of a get: sequence, kind and value.
type Answer = Option<(Sequence, EntryKind, Vec<u8>)>;

fn get(table: &TableReader, key: &[u8], visible: Sequence) -> Result<Answer> {
    let (mut numbers, mut source) = (NumberCache::default(), BlockSource::new(true));
    let version = table.get(&Asked::alone(key, visible), &mut numbers, &mut source)?;
    Ok(answer(version))
}

fn answer(version: Option<Version>) -> Answer {
    version.map(|v| (v.sequence, v.kind, v.content.into_value().to_vec()))
}

fn expected(model: &Model, key: &[u8], visible: Sequence) -> Answer {
    let from = (key.to_vec(), std::cmp::Reverse(visible));
    let ((found, sequence), (kind, value)) = model.range(from..).next()?;
    (found == key).then(|| (sequence.0, *kind, value.clone()))
}

/// Keys at, just before, just after and between those of the model.
fn probes(rng: &mut StdRng, model: &Model, count: usize) -> Vec<Vec<u8>> {
    let keys: Vec<&Vec<u8>> = model.keys().map(|(key, _)| key).collect();
    let mut probes = vec![Vec::new(), vec![0xff; 40]];
    for _ in 0..count {
        let mut key = keys[rng.random_range(0..keys.len())].clone();
        match rng.random_range(0..6) {
            0 => key.push(rng.random()),
            1 => drop(key.pop()),
            2 if !key.is_empty() => {
                let at = rng.random_range(0..key.len());
                key[at] = key[at].wrapping_add([1, 255][rng.random_range(0..2)]);
            }
            _ => {}
        }
        probes.push(key);
    }
    probes
}
