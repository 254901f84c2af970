//! Gets, seeks and scans over tables of many keys answer as a sorted map does, for key distributions that
//! are hard for models, at keys, at their neighbours and at snapshots, under all index kinds, partitions
//! and shapes. `RHUMB_SEED=n` replays a case.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit_model;

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::Mutex;

use kit_model::choices::Choices;
use kit_model::runs::{cases, number, scaled};
use kit_model::settings::{INDEXES, PARTITIONS, SHAPES, choose, describe};
use rhumb::{Db, Iter, Options, Snapshot, WriteBatch};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Entry = (Vec<u8>, Vec<u8>);
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

const ROUNDS: u64 = 5;
/// Keys that are looked up and sought after each round, with their neighbours.
const PROBES: u64 = 12;
/// Steps from each place that is sought.
const STEPS: usize = 3;

/// Keys of one sort, from random choices.
type Sort = (&'static str, fn(&mut Choices) -> Vec<u8>);

const SORTS: [Sort; 10] = [
    ("uniform", |c| c.next().to_be_bytes().to_vec()),
    ("clusters", |c| {
        let cluster = c.below(12).pow(9) * 1_000_003;
        (cluster + c.below(300)).to_be_bytes().to_vec()
    }),
    ("decimals", |c| {
        let number = c.below(40).pow(4) * 977 + c.below(50);
        format!("user{number:010}").into_bytes()
    }),
    ("prefixes of each other", |c| {
        let (letter, length) = (c.pick(b"ab"), c.below(120) as usize);
        let mut key = vec![letter; length];
        key.extend(c.percent(30).then_some(b'b'));
        key
    }),
    ("ties behind a long prefix", |c| {
        let (package, file) = (c.below(40), c.below(30));
        format!("/usr/share/doc/lib{package}-the-same-for-all/examples/{file}").into_bytes()
    }),
    ("bytes 0 and 255", |c| {
        let length = c.below(10);
        (0..length)
            .map(|_| c.pick(&[0, 0, 1, 254, 255, 255]))
            .collect()
    }),
    ("60 to 64 KiB", |c| {
        let length = [60_000, 65_535, 65_536][c.below(3) as usize];
        let mut key = vec![b'k'; length];
        let place = [0, length / 2, length - 1][c.below(3) as usize];
        key[place] = c.below(40) as u8;
        key
    }),
    ("any bytes", |c| {
        let length = c.below(24);
        (0..length).map(|_| c.next() as u8).collect()
    }),
    ("edges of numbers", |c| {
        let edge = [0, 1 << 53, 1 << 63, u64::MAX, u64::MAX << 32][c.below(5) as usize];
        let number = edge.wrapping_add(c.below(200)).wrapping_sub(100);
        number.to_be_bytes()[..c.pick(&[8, 8, 8, 7])].to_vec()
    }),
    ("one number for many", |c| {
        let mut key = b"0123456789abcdefghijklmnopqrstuvwxyz"[..c.pick(&[30, 36])].to_vec();
        key.extend(c.below(3_000).to_string().bytes());
        key
    }),
];

/// The sort of keys of a seed, and settings in which index, partition and shape take turns.
fn settings(seed: u64) -> (Sort, Options) {
    let turn = seed as usize;
    let mut options = choose(&mut Choices::seeded(seed), &INDEXES, &Options::in_memory());
    options.index = INDEXES[turn % INDEXES.len()].parse().unwrap();
    options.table.partition = PARTITIONS[turn / 3 % PARTITIONS.len()];
    options.levels.compaction = SHAPES[turn / 2 % SHAPES.len()];
    // Tables have many keys here.
    options.write_buffer_bytes = options.write_buffer_bytes.max(32 << 10);
    options.table.table_bytes = options.table.table_bytes.max(16 << 10);
    options.levels.base_bytes = options.levels.base_bytes.max(32 << 10);
    options.log_bytes = options.log_bytes.max(64 << 10);
    (SORTS[turn % SORTS.len()], options)
}

struct Case {
    choices: Choices,
    sort: Sort,
    options: Options,
    map: Map,
    /// About how many keys are written in a round.
    writes: u64,
}

/// Where to read: now, or at a snapshot.
struct Place<'a> {
    db: &'a Db,
    snapshot: Option<&'a Snapshot>,
    map: &'a Map,
}

impl Case {
    fn new(seed: u64) -> Case {
        let (sort, options) = settings(seed);
        let mut choices = Choices::seeded(seed ^ 0x5345_454b);
        let writes = match sort.0 {
            "60 to 64 KiB" => 20,
            _ => choices.pick(&[100, 500, 1_500]),
        };
        Case {
            choices,
            sort,
            options,
            map: Map::new(),
            writes,
        }
    }

    fn run(&mut self) -> Result<[u64; 2], String> {
        let mut db = Db::open("store", self.options.clone()).unwrap();
        let (mut held, mut work): (Vec<(Snapshot, Map)>, _) = (Vec::new(), [0, 0]);
        for _ in 0..ROUNDS {
            self.write(&db);
            if self.choices.percent(50) {
                held.push((db.snapshot(), self.map.clone()));
            }
            match self.choices.below(6) {
                0 => db.compact_range(None, None).unwrap(),
                1 | 2 => db.flush().unwrap(),
                3 => {
                    let (from, to) = (self.key(), self.key());
                    db.compact_range(Some(&from), Some(&to)).unwrap();
                }
                _ => {}
            }
            let writes = db.stats().unwrap().writes;
            if self.choices.percent(20) {
                held.clear();
                db.close().unwrap();
                work[0] += writes.flushes;
                work[1] += writes.compactions;
                db = Db::open("store", self.options.clone()).unwrap();
            }
            let map = std::mem::take(&mut self.map);
            let now = Place {
                db: &db,
                snapshot: None,
                map: &map,
            };
            self.check(&now)?;
            if !held.is_empty() {
                let at = self.choices.below(held.len() as u64) as usize;
                let (snapshot, map) = &held[at];
                self.check(&Place {
                    db: &db,
                    snapshot: Some(snapshot),
                    map,
                })?;
            }
            self.map = map;
        }
        let writes = db.stats().unwrap().writes;
        Ok([work[0] + writes.flushes, work[1] + writes.compactions])
    }

    fn key(&mut self) -> Vec<u8> {
        (self.sort.1)(&mut self.choices)
    }

    /// Writes new keys and older ones again, and removes some, in batches.
    fn write(&mut self, db: &Db) {
        let mut batch = WriteBatch::new();
        for n in 0..self.writes {
            let (key, choice) = (self.key(), self.choices.below(1_000));
            match choice {
                0..8 => {
                    let (from, to) = self.narrow(key);
                    batch.delete_range(db, from.clone()..to.clone()).unwrap();
                    self.map.retain(|key, _| *key < from || *key >= to);
                }
                8..120 => {
                    batch.delete(db, &key).unwrap();
                    self.map.remove(&key);
                }
                _ => {
                    let long = if choice < 130 { 5_000 } else { 40 };
                    let value = vec![n as u8; self.choices.below(long) as usize];
                    batch.put(db, &key, &value).unwrap();
                    self.map.insert(key, value);
                }
            }
            if batch.len() >= 64 {
                db.write(std::mem::take(&mut batch)).unwrap();
            }
        }
        db.write(batch).unwrap();
    }

    /// A range from a key over some of those behind it.
    fn narrow(&mut self, from: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
        let some = self.choices.below(60) as usize;
        let mut behind = self.map.range(from.clone()..).map(|(key, _)| key);
        let to = behind.nth(some).cloned();
        (from, to.unwrap_or(vec![255; 3]))
    }

    fn check(&mut self, place: &Place<'_>) -> Result<(), String> {
        place.compare_all()?;
        let mut probes = Vec::new();
        for _ in 0..PROBES {
            let key = match place.map.is_empty() || self.choices.percent(20) {
                true => self.key(),
                false => {
                    let at = self.choices.below(place.map.len() as u64) as usize;
                    place.map.keys().nth(at).unwrap().clone()
                }
            };
            probes.extend(neighbours(key));
        }
        for probe in &probes {
            place.compare_get(probe)?;
            place.compare_seeks(probe)?;
        }
        for _ in 0..PROBES {
            let count = probes.len() as u64;
            let (from, to) = (self.choices.below(count), self.choices.below(count));
            let (from, to) = (probes[from as usize].clone(), probes[to as usize].clone());
            let bounds = [
                (Included(from.clone()), Excluded(to.clone())),
                (Excluded(from), Included(to)),
            ];
            for range in bounds {
                place.compare_range(range, usize::MAX)?;
            }
        }
        place.compare_several(&probes)
    }
}

/// A key, and others right beside it that mostly do not exist.
fn neighbours(key: Vec<u8>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    if key.len() < 65_536 {
        all.push([&key[..], &[0]].concat());
        all.push([&key[..], &[255]].concat());
    }
    if let Some((&last, head)) = key.split_last() {
        all.push(head.to_vec());
        for other in [last.checked_sub(1), last.checked_add(1)] {
            all.extend(other.map(|other| [head, &[other]].concat()));
        }
    }
    all.push(key);
    all
}

fn name(key: &[u8]) -> String {
    let head = key[..key.len().min(40)].escape_ascii();
    format!("\"{head}\" of {} bytes", key.len())
}

/// Up to `count` entries from an end.
fn take(iter: Iter<'_>, backwards: bool, count: usize) -> Vec<Entry> {
    let owned = |entry: rhumb::Result<(rhumb::Key, rhumb::Value<'_>)>| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    };
    match backwards {
        false => iter.take(count).map(owned).collect(),
        true => iter.rev().take(count).map(owned).collect(),
    }
}

impl Place<'_> {
    fn when(&self) -> &'static str {
        self.snapshot.map_or("now", |_| "in a snapshot")
    }

    fn range(&self, range: &Range) -> Iter<'_> {
        match self.snapshot {
            Some(snapshot) => snapshot.range(self.db, range.clone()).unwrap(),
            None => self.db.range(range.clone()).unwrap(),
        }
    }

    /// Everything, forwards and backwards.
    fn compare_all(&self) -> Result<(), String> {
        self.compare_range((Unbounded, Unbounded), usize::MAX)
    }

    fn compare_get(&self, key: &[u8]) -> Result<(), String> {
        let found = match self.snapshot {
            Some(snapshot) => snapshot.get(self.db, key).unwrap(),
            None => self.db.get(key).unwrap(),
        };
        match found.as_deref() == self.map.get(key).map(Vec::as_slice) {
            true => Ok(()),
            false => Err(format!("get of {}, {}", name(key), self.when())),
        }
    }

    /// From a key on and up to it, with it and without.
    fn compare_seeks(&self, key: &[u8]) -> Result<(), String> {
        let key = || key.to_vec();
        let ranges = [
            (Included(key()), Unbounded),
            (Excluded(key()), Unbounded),
            (Unbounded, Included(key())),
            (Unbounded, Excluded(key())),
        ];
        for range in ranges {
            self.compare_range(range, STEPS)?;
        }
        Ok(())
    }

    /// The first entries of a range from both ends.
    fn compare_range(&self, range: Range, count: usize) -> Result<(), String> {
        let empty = matches!(
            &range,
            (Included(from) | Excluded(from), Included(to) | Excluded(to)) if from >= to
        );
        for backwards in [false, true] {
            let found = take(self.range(&range), backwards, count);
            let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
            let expected: Vec<Entry> = match (empty, backwards) {
                // A range of one key is not asked for: a map panics for some.
                (true, _) => self.between(&range),
                (_, false) => self
                    .map
                    .range(range.clone())
                    .take(count)
                    .map(owned)
                    .collect(),
                (_, true) => {
                    let all = self.map.range(range.clone()).rev();
                    all.take(count).map(owned).collect()
                }
            };
            if found != expected {
                let side = if backwards { "backwards" } else { "forwards" };
                let at = found
                    .iter()
                    .zip(&expected)
                    .take_while(|(a, b)| a == b)
                    .count();
                let bounds = [&range.0, &range.1].map(|bound| match bound {
                    Included(key) => format!("with {}", name(key)),
                    Excluded(key) => format!("without {}", name(key)),
                    Unbounded => "all".to_string(),
                });
                return Err(format!(
                    "{side}, {}, from {} to {}: {} found and {} expected differ at {at}: {:?}, {:?}",
                    self.when(),
                    bounds[0],
                    bounds[1],
                    found.len(),
                    expected.len(),
                    found.get(at).map(|(key, _)| name(key)),
                    expected.get(at).map(|(key, _)| name(key)),
                ));
            }
        }
        Ok(())
    }

    /// What stands in a range that is empty or of one key.
    fn between(&self, range: &Range) -> Vec<Entry> {
        match range {
            (Included(from), Included(to)) if from == to => {
                let value = self.map.get(from);
                value
                    .map(|value| (from.clone(), value.clone()))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn compare_several(&self, keys: &[Vec<u8>]) -> Result<(), String> {
        if self.snapshot.is_some() {
            return Ok(());
        }
        let values = self.db.multi_get(keys).unwrap();
        for (key, value) in keys.iter().zip(values) {
            if value.as_deref() != self.map.get(key).map(Vec::as_slice) {
                return Err(format!("{} among several", name(key)));
            }
        }
        Ok(())
    }
}

#[test]
fn every_seek_answers_as_a_sorted_map_does() {
    let work = Mutex::new([0, 0]);
    cases("seeks", 90, |seed| {
        let mut case = Case::new(seed);
        let done = case.run();
        let told = |wrong| {
            format!(
                "keys: {}; {}: {wrong}",
                case.sort.0,
                describe(&case.options)
            )
        };
        let [flushes, merges] = done.map_err(told)?;
        let mut work = work.lock().unwrap();
        *work = [work[0] + flushes, work[1] + merges];
        Ok(())
    });
    let [flushes, merges] = work.into_inner().unwrap();
    println!("{flushes} flushes, {merges} merges");
    assert!(number("RHUMB_SEED").is_some() || flushes.min(merges) > scaled(100));
}
