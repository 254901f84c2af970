//! The operations on a store, and their outcomes.

use std::fmt;
use std::ops::Bound;

use rhumb::KeyspaceOptions;

/// A key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() > 40 {
            let (head, tail) = (self.0[..8].escape_ascii(), &self.0[self.0.len() - 8..]);
            write!(f, "{head}..{}({})", tail.escape_ascii(), self.0.len())
        } else {
            write!(f, "\"{}\"", self.0.escape_ascii())
        }
    }
}

/// A value, given by its length and a number that makes it different from others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ValueSpec {
    pub bytes: usize,
    pub tag: u64,
}

impl ValueSpec {
    /// The bytes: the first half repeats, so that LZ4 shrinks it; the rest does not.
    pub fn expand(self) -> Vec<u8> {
        let mut random = super::choices::Choices::seeded(self.tag);
        let mut value = Vec::with_capacity(self.bytes + 8);
        while value.len() < self.bytes {
            let word = if value.len() * 2 < self.bytes {
                self.tag
            } else {
                random.next()
            };
            value.extend_from_slice(&word.to_le_bytes());
        }
        value.truncate(self.bytes);
        value
    }
}

impl fmt::Debug for ValueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}b#{}", self.bytes, self.tag)
    }
}

/// One write of a batch.
#[derive(Debug, Clone)]
pub enum Write {
    Put(usize, Key, ValueSpec),
    Delete(usize, Key),
    DeleteRange(usize, Key, Key),
}

/// What a swap expects where a key has this value: the right one, or another.
pub fn expected(current: Option<Vec<u8>>, right: bool) -> Option<Vec<u8>> {
    match (right, current) {
        (true, current) => current,
        (false, None) => Some(Vec::new()),
        (false, Some(mut value)) => (value.pop().is_some()).then_some(value),
    }
}

/// The keys that a scan covers.
#[derive(Debug, Clone)]
pub enum Cover {
    All,
    Range(Bound<Key>, Bound<Key>),
    Prefix(Key),
}

/// The ends from which a scan takes its entries.
#[derive(Debug, Clone, Copy)]
pub enum Walk {
    Forward,
    Backward,
    /// From both ends, as chosen with this seed, until they meet.
    Mixed(u64),
}

impl Walk {
    /// For each step, whether it takes from the front.
    pub fn steps(self) -> impl Iterator<Item = bool> {
        let mut random = match self {
            Walk::Mixed(seed) => Some(super::choices::Choices::seeded(seed)),
            _ => None,
        };
        std::iter::repeat_with(move || match &mut random {
            Some(random) => random.percent(50),
            None => matches!(self, Walk::Forward),
        })
    }
}

/// A scan of a keyspace, now or at a snapshot.
#[derive(Debug, Clone)]
pub struct Scan {
    pub keyspace: usize,
    pub snapshot: Option<usize>,
    pub cover: Cover,
    pub walk: Walk,
    /// Operations done during the scan, after this many steps.
    pub between: (usize, Vec<Op>),
}

/// One operation. Keyspaces and snapshots are identified by small numbers.
#[derive(Debug, Clone)]
pub enum Op {
    One(Write),
    /// A batch: whether it is buffered, and its writes.
    Batch(bool, Vec<Write>),
    /// An ingest: whether of finished tables, and its entries, in any order; the last one of a key counts.
    Ingest(usize, bool, Vec<(Key, Option<ValueSpec>)>),
    Get(usize, Option<usize>, Key),
    MultiGet(usize, Vec<Key>),
    Contains(usize, Key),
    Scan(Scan),
    TakeSnapshot(usize),
    DropSnapshot(usize),
    Flush(usize),
    Compact(usize, Option<Key>, Option<Key>),
    Sync,
    Create(usize),
    /// With options of its own, by number.
    CreateWith(usize, u64),
    Drop(usize),
    /// Sets options, by number.
    SetOptions(usize, u64),
    /// The first and the last key, and whether no estimate is below the number of keys.
    Ends(usize, Option<usize>),
    /// Sets the value to the last one, or to none, if it is the right one, or if it is another.
    Swap(usize, Key, bool, Option<ValueSpec>),
    DeletePrefix(usize, Key),
    Clear(usize),
    /// The options that are set.
    Options(usize),
    /// Closes and opens the store; the number chooses new settings if the run allows it.
    Reopen(u64),
    /// Closes the store, opens it read-only, does these operations, and opens it for writing again.
    ReadOnly(Vec<Op>),
}

/// The outcome of an operation. Two runs of one list must have equal outcomes.
#[derive(Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Value(Option<Vec<u8>>),
    Values(Vec<Option<Vec<u8>>>),
    Is(bool),
    Entries(Vec<(Vec<u8>, Vec<u8>)>),
    Set(KeyspaceOptions),
    Many(Vec<Outcome>),
    Failed(String),
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("Done"),
            Outcome::Value(v) => write!(f, "Value({})", short(v.as_deref())),
            Outcome::Values(vs) => f
                .debug_list()
                .entries(vs.iter().map(|v| short(v.as_deref())))
                .finish(),
            Outcome::Is(is) => write!(f, "Is({is})"),
            Outcome::Set(options) => write!(f, "Set({options})"),
            Outcome::Entries(entries) => f
                .debug_map()
                .entries(
                    entries
                        .iter()
                        .map(|(k, v)| (Key(k.clone()), short(Some(v)))),
                )
                .finish(),
            Outcome::Many(many) => f.debug_list().entries(many).finish(),
            Outcome::Failed(why) => write!(f, "Failed({why})"),
        }
    }
}

fn short(value: Option<&[u8]>) -> String {
    match value {
        None => "-".to_string(),
        Some(v) => format!(
            "{}b{}",
            v.len(),
            v.iter()
                .take(8)
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        ),
    }
}
