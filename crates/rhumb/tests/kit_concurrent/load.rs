//! What the writers write: each operation follows from the seed, the writer and its number.

use rhumb::{DEFAULT_KEYSPACE, Durability};

use super::KEYSPACES;
use super::history::{Clock, WRITERS};
use crate::kit::Random;
use crate::kit::oracle::{Change, Content, Event, Oracle};
use crate::kit::script::{self, value};

/// The sizes of a run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub seed: u64,
    /// Operations of each writer.
    pub operations: usize,
    /// Keys of each writer in each keyspace.
    pub keys: u64,
    /// Values have up to about this many bytes, or ten times as many in one case of 20.
    pub value_bytes: u64,
    pub buffered_percent: u64,
}

/// One step of the commit order.
#[derive(Debug, Clone)]
pub struct Operation {
    pub changes: Vec<(String, Change)>,
    pub durability: Durability,
    /// What the marker was before, if the marker alone is set, by comparing it.
    pub swap: Option<Option<Vec<u8>>>,
    /// Whether it is an ingest into the first keyspace, of entries in any order; the last one of a key counts.
    pub ingest: bool,
}

impl Load {
    /// An operation of a writer; numbers begin at 1.
    pub fn operation(&self, writer: usize, number: usize) -> Operation {
        let mut random = self.random(writer, number);
        let buffered = random.percent(self.buffered_percent);
        let durability = match buffered {
            true => Durability::Buffered,
            false => Durability::Immediate,
        };
        let put = |keyspace: &str, value| {
            let put = Change::Put(marker_key(writer), value);
            (keyspace.to_string(), put)
        };
        let marker = self.marker(writer, number);
        if random.percent(10) {
            let before = (number > 1).then(|| self.marker(writer, number - 1));
            return Operation {
                changes: vec![put(DEFAULT_KEYSPACE, marker)],
                durability: Durability::Immediate,
                swap: Some(before),
                ingest: false,
            };
        }
        if random.percent(6) {
            let mut changes = vec![put(KEYSPACES[0], marker)];
            for _ in 0..1 + random.below(10) {
                let at = key(0, writer, random.below(self.keys));
                let change = match random.percent(20) {
                    true => Change::Delete(at),
                    false => Change::Put(at, value(&mut random, 9 + self.value_bytes)),
                };
                changes.push((KEYSPACES[0].to_string(), change));
            }
            return Operation {
                changes,
                durability: Durability::Immediate,
                swap: None,
                ingest: true,
            };
        }
        let mut changes: Vec<_> = (0..1 + random.below(6))
            .map(|_| self.change(writer, &mut random))
            .collect();
        let place = random.below(changes.len() as u64 + 1) as usize;
        changes.insert(place, put(KEYSPACES[0], marker.clone()));
        changes.push(put(KEYSPACES[1], marker));
        Operation {
            changes,
            durability,
            swap: None,
            ingest: false,
        }
    }

    fn change(&self, writer: usize, random: &mut Random) -> (String, Change) {
        let which = random.below(2) as usize;
        let (number, length) = (random.below(self.keys), random.below(self.keys / 4 + 1));
        let at = key(which, writer, number);
        let change = match random.below(100) {
            // Only in the first keyspace do the keys of a writer stand beside each other.
            0..2 if which == 0 => {
                Change::DeleteRange(vec![letter(writer)], vec![letter(writer) + 1])
            }
            2..8 if which == 0 => Change::DeleteRange(at, key(which, writer, number + 1 + length)),
            0..8 => {
                let behind = [at.as_slice(), &[0]].concat();
                Change::DeleteRange(at, behind)
            }
            8..22 => Change::Delete(at),
            _ => {
                let large = if random.percent(5) { 10 } else { 1 };
                let length = 9 + random.below(self.value_bytes * large);
                Change::Put(at, value(random, length))
            }
        };
        (KEYSPACES[which].to_string(), change)
    }

    /// The value of a writer's marker after an operation.
    fn marker(&self, writer: usize, number: usize) -> Vec<u8> {
        let mut marker = (number as u64).to_be_bytes().to_vec();
        let length = self.random(writer, number).below(30) as usize;
        marker.resize(8 + length, letter(writer));
        marker
    }

    pub fn random(&self, actor: usize, number: usize) -> Random {
        let place = (actor as u64) << 32 | number as u64;
        Random(Random(self.seed ^ place.wrapping_mul(0xD1B5_4A32_D192_ED03)).next())
    }

    /// A key of any writer in the first keyspace.
    pub fn any_key(&self, random: &mut Random) -> Vec<u8> {
        let writer = random.below(WRITERS as u64) as usize;
        key(0, writer, random.below(self.keys))
    }
}

impl Operation {
    pub fn event(&self) -> Event {
        Event::Write(self.changes.clone())
    }
}

fn letter(writer: usize) -> u8 {
    b'A' + writer as u8
}

/// A key of a writer in one of [`KEYSPACES`]. In the second one, the keys of all writers alternate.
pub fn key(keyspace: usize, writer: usize, number: u64) -> Vec<u8> {
    let key = script::key(number);
    match keyspace {
        0 => [&[letter(writer)], key.as_slice()].concat(),
        _ => [key.as_slice(), &[letter(writer)]].concat(),
    }
}

/// The key of a writer's marker, in each keyspace.
pub fn marker_key(writer: usize) -> Vec<u8> {
    format!("#marker {writer}").into_bytes()
}

/// The number of operations that a marker stands for.
pub fn marked(marker: Option<&[u8]>) -> usize {
    let number = marker.and_then(|marker| marker.first_chunk());
    number.map_or(0, |number| u64::from_be_bytes(*number) as usize)
}

/// What the store holds of all writers after some operations of each.
#[derive(Debug)]
pub struct Replay {
    load: Load,
    writers: [Oracle; WRITERS],
}

impl Replay {
    pub fn new(load: Load) -> Self {
        let writers = std::array::from_fn(|_| Oracle::new());
        Replay { load, writers }
    }

    /// Does more operations.
    pub fn advance(&mut self, to: Clock) -> Result<(), String> {
        for (writer, oracle) in self.writers.iter_mut().enumerate() {
            if to[writer] < oracle.len() {
                let (now, then) = (to[writer], oracle.len());
                return Err(format!(
                    "writer {writer}: {then} operations were seen, now {now}"
                ));
            }
            for number in oracle.len() + 1..=to[writer] {
                oracle.push(self.load.operation(writer, number).event());
            }
        }
        Ok(())
    }

    /// The keys of all writers in the keyspaces with keys.
    pub fn content(&self) -> Content {
        let mut content = Content::new();
        for (name, keys) in self.writers.iter().flat_map(|oracle| &oracle.content) {
            let all = content.entry(name.clone()).or_default();
            all.extend(keys.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        content
    }

    /// The value of a key of a keyspace.
    pub fn get(&self, keyspace: &str, key: &[u8]) -> Option<&Vec<u8>> {
        let contents = self.writers.iter().map(|oracle| &oracle.content);
        contents.filter_map(|c| c.get(keyspace)?.get(key)).next()
    }
}
