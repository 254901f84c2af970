//! The newest writes of a keyspace, in memory: a tree of entries, and range deletes beside it.

mod block;
mod cursor;
mod hash_index;
mod head;
mod insert;
#[cfg(all(test, loom))]
mod loom;
mod record;
mod skip;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
mod tree;
mod versions;
mod walk;
mod writer;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rhumb_index::search::common_prefix;

use crate::entry::{Content, MAX_SEQUENCE, RangeDeleteTree, Sequence, Version, hash_key};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{OnceLock, OwnLines};
pub(crate) use cursor::MemtableCursor;
use hash_index::{Found, HashIndex};
use record::Record;
use tree::Tree;
pub(crate) use writer::MemtableWriter;

/// A memtable with more range deletes than this is full, since each get searches them.
const MOST_RANGE_DELETES: usize = 1024;

/// With so many keys the tree no longer lies in the caches of the processor, and a search waits for memory several times.
/// Tests of stores seldom write so many.
const LEAST_INDEXED: u64 = if cfg!(test) { 16 } else { 8 << 10 };

/// A hash index is made for so many keys at most, and takes 128 MiB: others are searched in the tree.
const MOST_INDEXED: u64 = 1 << 24;

/// A sorted, growing set of entries and range deletes.
///
/// Aligned, so that its count of references lies in another cache line than what every get reads.
///
/// Readers take no lock. Writers hold a lock, so that the type is sound however it is called. But callers
/// must keep the order of commits and decide which sequences may be seen: a read whose sequence covers an
/// entry can find it as soon as it is inserted.
#[repr(align(64))]
pub(crate) struct Memtable {
    tree: Tree,
    /// Over all keys, once they are many.
    index: OnceLock<HashIndex>,
    range_deletes: ArcSwap<RangeDeleteTree>,
    /// The number of range deletes. Most memtables have none; a get then loads only this count.
    range_delete_count: AtomicUsize,
    range_delete_bytes: AtomicUsize,
    counts: OwnLines<Counts>,
}

/// What every write changes.
struct Counts {
    entries: AtomicU64,
    /// How many of them are not found by newer ones of their key: about one a key.
    keys: AtomicU64,
    /// Over entries and range deletes; initially `MAX_SEQUENCE` for the smallest and 0 for the
    /// largest.
    smallest_sequence: AtomicU64,
    largest_sequence: AtomicU64,
}

impl Memtable {
    /// An empty memtable; allocates almost nothing.
    pub fn new() -> Self {
        Self::with_prefix(Box::default())
    }

    /// An empty memtable for keys that mostly start with `likely_prefix`, such as
    /// [`Memtable::common_prefix`] of the previous memtable. Any prefix is correct, and the first
    /// key shortens it to what they share. A good prefix makes searches faster, because most
    /// comparisons look at the eight bytes after it.
    pub fn with_prefix(likely_prefix: Box<[u8]>) -> Self {
        Memtable {
            tree: Tree::new(likely_prefix),
            index: OnceLock::new(),
            range_deletes: ArcSwap::default(),
            range_delete_count: AtomicUsize::new(0),
            range_delete_bytes: AtomicUsize::new(0),
            counts: OwnLines(Counts {
                entries: AtomicU64::new(0),
                keys: AtomicU64::new(0),
                smallest_sequence: AtomicU64::new(MAX_SEQUENCE),
                largest_sequence: AtomicU64::new(0),
            }),
        }
    }

    /// The right to write, for one thread at a time.
    pub fn writer(&self) -> MemtableWriter<'_> {
        MemtableWriter::new(self)
    }

    fn cover(&self, smallest: Sequence, largest: Sequence) {
        self.counts
            .smallest_sequence
            .fetch_min(smallest, Ordering::Relaxed);
        self.counts
            .largest_sequence
            .fetch_max(largest, Ordering::Relaxed);
    }

    /// The newest version of `key`, which has this [hash](hash_key), with a sequence not above `visible`; its value is pinned
    /// in the arena. Ignores range deletes. For readers who may see what was published before they read `visible`.
    ///
    /// Waits for memory twice where there is a hash index, unless a newer version than `visible` is there.
    pub fn get(&self, key: &[u8], hash: u64, visible: Sequence) -> Option<Version> {
        let newest = match self.index.get() {
            Some(index) => index.find(hash, |address| self.tree.record_of(address, key)),
            None => Found::Unknown,
        };
        let record = match newest {
            Found::Nothing => return None,
            Found::Newest(record) if record.sequence <= visible => record,
            _ => self.search(key, visible)?,
        };
        Some(Version {
            sequence: record.sequence,
            kind: record.kind,
            content: Content::Here(record.value(self.tree.arena())),
        })
    }

    /// Searches the tree for the newest version of `key` with a sequence not above `visible`.
    fn search(&self, key: &[u8], visible: Sequence) -> Option<Record<'_>> {
        let spot = self.tree.find(&self.tree.target(key, visible)?)?;
        let record = self.tree.record(spot.record);
        (record.key == key).then_some(record)
    }

    /// Prefetches what a get of the key with this hash reads first, where there is a hash index.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(index) = self.index.get() {
            index.prefetch(hash);
        }
    }

    /// Whether it has many keys, and no hash index over them.
    #[inline]
    pub fn lacks_index(&self) -> bool {
        self.keys() >= LEAST_INDEXED && self.index.get().is_none()
    }

    /// Begins the hash index over its keys, if it [lacks one](Memtable::lacks_index), for a memtable that will take `most_bytes`. The caller keeps
    /// others from writing. Costs, once, a walk over the entries that there are.
    pub fn begin_index(&self, most_bytes: u64) {
        if !self.lacks_index() {
            return;
        }
        let bytes = self.bytes() as u64;
        let entry_bytes = (bytes / self.entries()).max(1);
        // Of what is still to come each entry may be another key.
        let keys = self.keys() + most_bytes.saturating_sub(bytes) / entry_bytes;
        let Some(index) = HashIndex::new(keys.min(MOST_INDEXED)) else {
            return;
        };
        let mut next = self.tree.first();
        while let Some(spot) = next {
            let hash = hash_key(self.tree.record(spot.record).key);
            self.tree.add_to(&index, hash, spot.record);
            next = self.tree.behind(spot);
        }
        self.index.get_or_init(|| index);
    }

    /// Searches for the place where a new version of a key belongs, so that its insertion finds in the processor's caches
    /// what it reads.
    pub fn approach(&self, key: &[u8]) {
        let target = self.tree.target(key, MAX_SEQUENCE);
        std::hint::black_box(target.and_then(|target| self.tree.find(&target)));
    }

    /// The largest sequence, not above `visible`, of the range deletes here that cover `key`.
    pub fn covering(&self, key: &[u8], visible: Sequence) -> Option<Sequence> {
        if self.range_delete_count() == 0 {
            return None;
        }
        self.range_deletes.load().covering(key, visible)
    }

    /// The range deletes at this moment; `None` if there are none.
    pub fn range_deletes(&self) -> Option<Arc<RangeDeleteTree>> {
        (self.range_delete_count() > 0).then(|| self.range_deletes.load_full())
    }

    fn range_delete_count(&self) -> usize {
        // Relaxed suffices: a reader to whom a range delete is visible has synchronised with its
        // writer since.
        self.range_delete_count.load(Ordering::Relaxed)
    }

    /// Whether every entry is older than the range delete of a sequence, here or in a newer memtable.
    fn is_older(&self, sequence: Sequence) -> bool {
        // No entry has the sequence of a range delete.
        self.counts.largest_sequence.load(Ordering::Relaxed) <= sequence
    }

    /// A cursor over the entries, not yet positioned.
    pub fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(Arc::clone(self))
    }

    /// Memory allocated, in bytes.
    pub fn bytes(&self) -> usize {
        let index = self.index.get().map_or(0, HashIndex::bytes);
        self.tree.bytes() + self.range_delete_bytes.load(Ordering::Relaxed) + index
    }

    /// Whether the memtable should be flushed: it takes at least `most_bytes`, holds more than 1,024
    /// range deletes, or has so many blocks (over 100 million) that few more may fit.
    pub fn is_full(&self, most_bytes: u64) -> bool {
        self.bytes() as u64 >= most_bytes
            || self.range_delete_count() > MOST_RANGE_DELETES
            || self.tree.is_nearly_full()
    }

    /// The number of entries, not counting range deletes.
    pub fn entries(&self) -> u64 {
        self.counts.entries.load(Ordering::Acquire)
    }

    /// About the number of keys: a key counts once for each entry of a leaf that its versions take, mostly one.
    pub fn keys(&self) -> u64 {
        self.counts.keys.load(Ordering::Relaxed)
    }

    /// Whether there are neither entries nor range deletes.
    pub fn is_empty(&self) -> bool {
        self.entries() == 0 && self.range_delete_count.load(Ordering::Acquire) == 0
    }

    /// The smallest sequence of all entries and range deletes; `None` if there are none.
    pub fn smallest_sequence(&self) -> Option<Sequence> {
        (!self.is_empty()).then(|| self.counts.smallest_sequence.load(Ordering::Relaxed))
    }

    /// The largest sequence of all entries and range deletes; `None` if there are none.
    pub fn largest_sequence(&self) -> Option<Sequence> {
        (!self.is_empty()).then(|| self.counts.largest_sequence.load(Ordering::Relaxed))
    }

    /// Whether the entries came in the order in which they stand: every one behind all before it.
    pub fn is_ascending(&self) -> bool {
        self.tree.is_ascending()
    }

    /// The largest key of the entries; `None` if there are none.
    pub fn last_key(&self) -> Option<&[u8]> {
        let last = self.tree.last()?;
        Some(self.tree.record(last.record).key)
    }

    /// Some of the entries, mostly the newest version of each key, at random and in order, each with its key and sequence: all
    /// of them if there are fewer than four times `least`, else between that many and `least`. Each stands for as many as
    /// the number says that comes with them.
    pub fn sample(&self, least: u64) -> (Vec<(&[u8], Sequence)>, u64) {
        let mut weight = 1;
        while self.keys() / (4 * weight) >= least.max(1) {
            weight *= 4;
        }
        let records = self.tree.sample(weight as usize).into_iter();
        (records.map(|r| (r.key, r.sequence)).collect(), weight)
    }

    /// The longest prefix shared by all keys of the entries.
    pub fn common_prefix(&self) -> Box<[u8]> {
        let Some((first, last)) = self.tree.first().zip(self.tree.last()) else {
            return Box::default();
        };
        let key = |spot: tree::Spot| self.tree.record(spot.record).key;
        let (first, last) = (key(first), key(last));
        let alike = common_prefix(first, last);
        first.get(..alike).unwrap_or_default().into()
    }
}

#[cfg(test)]
impl Memtable {
    /// Inserts one entry.
    pub fn insert(
        &self,
        key: &[u8],
        sequence: Sequence,
        kind: crate::entry::EntryKind,
        value: &[u8],
    ) -> crate::error::Result<()> {
        self.writer().insert(key, sequence, kind, value)
    }

    /// Deletes one range.
    pub fn delete_range(&self, start: &[u8], end: &[u8], sequence: Sequence) {
        self.writer().delete_range(start, end, sequence);
    }
}

impl Default for Memtable {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memtable")
            .field("entries", &self.entries())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
