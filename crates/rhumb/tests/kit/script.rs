//! Scripts: lists of steps to do with a store.

use std::collections::BTreeMap;

use rhumb::fs::Loss;
use rhumb::{Durability, KeyspaceOptions};

use super::Random;
use super::oracle::Change;

/// The keyspaces that scripts refer to by number; the first always exists.
pub const KEYSPACES: [&str; 4] = [rhumb::DEFAULT_KEYSPACE, "accounts", "by-name", "c"];

/// One step. A step that is impossible (a write to a missing keyspace) is skipped.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes a batch.
    Write(Vec<(usize, Change)>, Durability),
    /// Makes everything acknowledged durable.
    Sync,
    Flush(usize),
    /// Compacts a whole keyspace, or its upper half.
    Compact(usize, bool),
    /// Ingests these entries, with `None` for deletes: as tables that were finished outside of the store, or as
    /// sorted entries.
    Ingest(usize, BTreeMap<Vec<u8>, Option<Vec<u8>>>, bool),
    /// Sets a value, or removes it, by comparing it with the one that is there.
    Swap(usize, Vec<u8>, Option<Vec<u8>>),
    Create(usize),
    /// Makes a keyspace with some of [`options`].
    CreateWith(usize, usize),
    /// Sets some of [`options`].
    SetOptions(usize, usize),
    Drop(usize),
    /// Reads everything in all ways, live and through the snapshot that is held.
    Read,
    /// Takes a snapshot and holds it, replacing the one held before.
    Hold,
    /// Leaves this many bytes of space on the disk, until the store finds it full.
    Full(u64),
    /// Closes the store and opens it again.
    Reopen,
    /// Kills the process and opens the store again: nothing written is lost.
    Kill,
    /// Cuts the power and opens the store again.
    Crash(Loss, u64),
}

/// Options of a keyspace by number; 0: none.
pub fn options(number: usize) -> KeyspaceOptions {
    let index = ["fp", "pgm:boundary=8", "plr"].get(number % 4);
    let table = "partition=bytes(512),filter=5,compression=lz4,size=4KiB";
    KeyspaceOptions {
        index: index
            .filter(|_| number > 0)
            .and_then(|text| text.parse().ok()),
        table: (number > 3).then(|| table.parse().ok()).flatten(),
    }
}

/// The key with this number; some have long common prefixes, one is empty.
pub fn key(number: u64) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        n if n % 7 == 3 => format!("user/{n:05}/a long path with a name").into_bytes(),
        n => format!("user/{n:05}").into_bytes(),
    }
}

/// A value of about `length` bytes that no other write has; half of it compresses well.
pub fn value(random: &mut Random, length: u64) -> Vec<u8> {
    let mut bytes = format!("{:016x}", random.next()).into_bytes();
    while (bytes.len() as u64) < length {
        if bytes.len() % 64 < 32 {
            bytes.extend(random.next().to_le_bytes());
        } else {
            bytes.extend(b"and so on");
        }
    }
    bytes.truncate(length.max(9) as usize);
    bytes
}

/// The mixture of a script: the probabilities of changes and steps.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub keys: u64,
    /// Values have from 9 up to about this many bytes, or ten times as many in one case of 20.
    pub value_bytes: u64,
    pub buffered_percent: u64,
    pub batch: u64,
    pub keyspaces: u64,
    pub delete_percent: u64,
    pub range_delete_percent: u64,
    /// Whether keys ascend instead of being random.
    pub ascending: bool,
    /// How many ascending keys come up to 80 too early, and how many as much too late.
    pub displaced_percent: u64,
}

impl Recipe {
    pub const PLAIN: Recipe = Recipe {
        keys: 60,
        value_bytes: 120,
        buffered_percent: 50,
        batch: 1,
        keyspaces: 1,
        delete_percent: 15,
        range_delete_percent: 0,
        ascending: false,
        displaced_percent: 0,
    };

    /// A batch of writes; `number` counts the writes of a script.
    pub fn write(&self, random: &mut Random, number: u64) -> Step {
        let count = 1 + random.below(self.batch);
        let changes = (0..count)
            .map(|i| {
                let keyspace = random.below(self.keyspaces) as usize;
                (keyspace, self.change(random, number * self.batch + i))
            })
            .collect();
        let buffered = random.percent(self.buffered_percent);
        let durability = if buffered {
            Durability::Buffered
        } else {
            Durability::Immediate
        };
        Step::Write(changes, durability)
    }

    fn change(&self, random: &mut Random, number: u64) -> Change {
        let at = if !self.ascending {
            random.below(self.keys)
        } else if random.percent(self.displaced_percent) {
            number + random.below(80)
        } else if random.percent(self.displaced_percent) {
            number.saturating_sub(random.below(80))
        } else {
            number
        };
        if random.percent(self.range_delete_percent) {
            let length = 1 + random.below(self.keys / 4 + 1);
            return Change::DeleteRange(key(at), key(at + length));
        }
        if random.percent(self.delete_percent) {
            return Change::Delete(key(at));
        }
        let large = if random.percent(5) { 10 } else { 1 };
        let length = 9 + random.below(self.value_bytes * large);
        Change::Put(key(at), value(random, length))
    }
}
