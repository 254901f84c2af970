//! Generates lists of operations from choices.

use std::ops::Bound;

use super::choices::Choices;
use super::operation::{Cover, Key, Op, Scan, ValueSpec, Walk, Write};

/// The numbers of keyspaces and snapshots that operations refer to. Keyspace 0 is the default one.
pub const KEYSPACES: usize = 4;
pub const SNAPSHOTS: usize = 4;

/// Families of keys, each difficult for orders, prefixes or learned models in its own way.
#[derive(Debug, Clone, Copy)]
enum Family {
    TinyAlphabet,
    Integers,
    Decimals,
    LongPrefix,
    EmbeddedNul,
    Edges,
}

const FAMILIES: [Family; 6] = [
    Family::TinyAlphabet,
    Family::Integers,
    Family::Decimals,
    Family::LongPrefix,
    Family::EmbeddedNul,
    Family::Edges,
];

/// Generates the operations of one history.
pub struct Generator<'a> {
    choices: &'a mut Choices,
    families: [Family; KEYSPACES],
    /// About the number of different keys of a family.
    keys: u64,
    /// The number of the last value; it makes values different.
    tag: u64,
    /// The longest value; most are much shorter.
    longest_value: u64,
}

impl<'a> Generator<'a> {
    pub fn new(choices: &'a mut Choices) -> Self {
        let mut families = [Family::TinyAlphabet; KEYSPACES];
        for family in &mut families {
            *family = choices.pick(&FAMILIES);
        }
        let keys = choices.pick(&[4, 12, 40, 150]);
        let longest_value = choices.pick(&[16, 100, 1000, 5000]);
        Generator {
            choices,
            families,
            keys,
            tag: 0,
            longest_value,
        }
    }

    /// A list of `count` operations, or fewer if the choices run out.
    pub fn list(&mut self, count: usize) -> Vec<Op> {
        let mut list = Vec::new();
        while list.len() < count && !self.choices.exhausted() {
            list.push(self.operation(true));
        }
        list
    }

    fn operation(&mut self, outer: bool) -> Op {
        match self.choices.below(1000) {
            0..320 => Op::One(self.write()),
            320..330 => self.ingest(),
            330..440 => self.batch(),
            440..460 => self.swap(),
            460..540 => Op::Get(self.keyspace(), self.snapshot(40), self.key_any()),
            540..565 => self.multi_get(),
            565..580 => Op::Ends(self.keyspace(), self.snapshot(40)),
            580..590 => Op::Contains(self.keyspace(), self.key_any()),
            590..800 => Op::Scan(self.scan(outer)),
            800..845 => Op::TakeSnapshot(self.choices.below(SNAPSHOTS as u64) as usize),
            845..865 => Op::DropSnapshot(self.choices.below(SNAPSHOTS as u64) as usize),
            865..870 => self.delete_prefix(),
            870..872 => Op::Clear(self.keyspace()),
            872..905 => Op::Flush(self.keyspace()),
            905..940 => self.compact(),
            940..945 => Op::Sync,
            945..960 => Op::Create(self.choices.below(KEYSPACES as u64) as usize),
            960..966 => Op::CreateWith(self.keyspace(), self.choices.next()),
            966..970 => Op::SetOptions(self.keyspace(), self.choices.next()),
            970..978 => Op::Drop(self.choices.below(KEYSPACES as u64) as usize),
            978..990 if outer => Op::Reopen(self.choices.next()),
            990..1000 if outer => self.read_only(),
            _ => Op::Flush(0),
        }
    }

    fn keyspace(&mut self) -> usize {
        let any = self.choices.below(KEYSPACES as u64) as usize;
        if self.choices.percent(60) { 0 } else { any }
    }

    fn snapshot(&mut self, percent: u64) -> Option<usize> {
        let taken = self.choices.percent(percent);
        taken.then(|| self.choices.below(SNAPSHOTS as u64) as usize)
    }

    fn key_any(&mut self) -> Key {
        let keyspace = self.choices.below(KEYSPACES as u64) as usize;
        self.key(keyspace)
    }

    /// A key of the keyspace's family, or sometimes of another one.
    fn key(&mut self, keyspace: usize) -> Key {
        let strange = self.choices.percent(3);
        let family = if strange {
            self.choices.pick(&FAMILIES)
        } else {
            self.families[keyspace]
        };
        let n = self.choices.below(self.keys);
        Key(match family {
            Family::TinyAlphabet => {
                let length = self.choices.below(5);
                (0..length)
                    .map(|_| self.choices.pick(b"\0ab\xff"))
                    .collect()
            }
            Family::Integers => (n * n * 1_000_003).to_be_bytes().to_vec(),
            Family::Decimals => match n % 3 {
                0 => format!("{n}"),
                1 => format!("user{:08}", n * 37),
                _ => format!("{}", n * n * 9973),
            }
            .into_bytes(),
            Family::LongPrefix => {
                let mut key = vec![b'p'; [20, 64, 300][(n % 3) as usize]];
                key.extend((n / 3).to_string().bytes());
                key
            }
            Family::EmbeddedNul => format!("{}\0{}\0{}", n % 3, n / 3 % 5, n / 15).into_bytes(),
            Family::Edges => {
                let edges = [
                    0u64,
                    1,
                    255,
                    256,
                    1 << 53,
                    (1 << 53) + 1,
                    u64::MAX - 1,
                    u64::MAX,
                ];
                let edge = edges[(n % 8) as usize].to_be_bytes();
                edge[..8 - (n / 8 % 8) as usize].to_vec()
            }
        })
    }

    fn two_keys(&mut self, keyspace: usize) -> (Key, Key) {
        let (a, b) = (self.key(keyspace), self.key(keyspace));
        // A reversed range is empty, and must have no effect.
        if a <= b || self.choices.percent(5) {
            (a, b)
        } else {
            (b, a)
        }
    }

    fn value(&mut self) -> ValueSpec {
        self.tag += 1;
        let bytes = match self.choices.below(20) {
            0 => 0,
            1 => self.choices.below(self.longest_value),
            _ => self.choices.below(self.longest_value.min(60)),
        };
        ValueSpec {
            bytes: bytes as usize,
            tag: self.tag,
        }
    }

    fn write(&mut self) -> Write {
        let keyspace = self.keyspace();
        match self.choices.below(20) {
            0..13 => Write::Put(keyspace, self.key(keyspace), self.value()),
            13..18 => Write::Delete(keyspace, self.key(keyspace)),
            _ => {
                let (from, to) = self.two_keys(keyspace);
                Write::DeleteRange(keyspace, from, to)
            }
        }
    }

    fn batch(&mut self) -> Op {
        let count = match self.choices.below(4) {
            0 => self.choices.below(60),
            _ => self.choices.below(6),
        };
        let buffered = self.choices.percent(30);
        Op::Batch(buffered, (0..count).map(|_| self.write()).collect())
    }

    fn ingest(&mut self) -> Op {
        let (keyspace, finished) = (self.keyspace(), self.choices.percent(40));
        let count = match self.choices.below(4) {
            0 => self.choices.below(60),
            _ => self.choices.below(6),
        };
        let entries = (0..count).map(|_| {
            let (key, is_put) = (self.key(keyspace), self.choices.percent(80));
            (key, is_put.then(|| self.value()))
        });
        Op::Ingest(keyspace, finished, entries.collect())
    }

    fn multi_get(&mut self) -> Op {
        let keyspace = self.keyspace();
        // More than are looked up together, now and then.
        let count = match self.choices.below(8) {
            0 => self.choices.below(200),
            _ => self.choices.below(6),
        };
        Op::MultiGet(keyspace, (0..count).map(|_| self.key(keyspace)).collect())
    }

    fn swap(&mut self) -> Op {
        let keyspace = self.keyspace();
        let (key, right) = (self.key(keyspace), self.choices.percent(70));
        let new = self.choices.percent(75).then(|| self.value());
        Op::Swap(keyspace, key, right, new)
    }

    fn delete_prefix(&mut self) -> Op {
        let keyspace = self.keyspace();
        let mut key = self.key(keyspace);
        let kept = self.choices.below(key.0.len() as u64 + 1) as usize;
        key.0.truncate(kept);
        Op::DeletePrefix(keyspace, key)
    }

    fn bound(&mut self, key: Key) -> Bound<Key> {
        match self.choices.below(3) {
            0 => Bound::Included(key),
            1 => Bound::Excluded(key),
            _ => Bound::Unbounded,
        }
    }

    fn cover(&mut self, keyspace: usize) -> Cover {
        match self.choices.below(4) {
            0 => Cover::All,
            1 => {
                let mut key = self.key(keyspace);
                let kept = self.choices.below(key.0.len() as u64 + 1) as usize;
                key.0.truncate(kept);
                Cover::Prefix(key)
            }
            _ => {
                let (from, to) = self.two_keys(keyspace);
                Cover::Range(self.bound(from), self.bound(to))
            }
        }
    }

    fn scan(&mut self, outer: bool) -> Scan {
        let keyspace = self.keyspace();
        let snapshot = self.snapshot(40);
        let cover = self.cover(keyspace);
        let walk = match self.choices.below(3) {
            0 => Walk::Forward,
            1 => Walk::Backward,
            _ => Walk::Mixed(self.choices.next()),
        };
        let mut between = (0, Vec::new());
        if outer && self.choices.percent(15) {
            let count = 1 + self.choices.below(5);
            between.0 = self.choices.below(5) as usize;
            between.1 = (0..count).map(|_| self.operation(false)).collect();
        }
        Scan {
            keyspace,
            snapshot,
            cover,
            walk,
            between,
        }
    }

    fn compact(&mut self) -> Op {
        let keyspace = self.keyspace();
        if self.choices.percent(50) {
            return Op::Compact(keyspace, None, None);
        }
        let (from, to) = self.two_keys(keyspace);
        let from = self.choices.percent(70).then_some(from);
        let to = self.choices.percent(70).then_some(to);
        Op::Compact(keyspace, from, to)
    }

    fn read_only(&mut self) -> Op {
        let mut reads = Vec::new();
        for _ in 0..1 + self.choices.below(4) {
            reads.push(Op::Scan(Scan {
                snapshot: None,
                ..self.scan(false)
            }));
            reads.push(Op::Get(self.keyspace(), None, self.key_any()));
        }
        reads.push(Op::Options(self.keyspace()));
        reads.push(Op::Ends(self.keyspace(), None));
        reads.push(Op::SetOptions(self.keyspace(), self.choices.next()));
        reads.push(Op::One(self.write()));
        reads.push(Op::Flush(0));
        Op::ReadOnly(reads)
    }
}
