//! A cursor over a memtable.

use std::sync::Arc;

use super::Memtable;
use super::tree::Spot;
use crate::entry::{Cursor, EntryKind, Here, MAX_SEQUENCE, Sequence};
use crate::error::Result;
use crate::memory::Pinned;

/// Goes over the entries of a memtable, including those inserted in the meantime. It never fails.
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    spot: Option<Spot>,
    // Copied from the record at `spot`, since callers read these most often.
    key_position: u64,
    key_len: usize,
    value_len: usize,
    sequence: Sequence,
    kind: EntryKind,
    ahead: Ahead,
}

/// Goes on to entries to come, and has their records brought to the cache meanwhile. Entries that
/// are neighbours in the order of keys were seldom inserted one after the other, so without this a step
/// waits for memory twice.
#[derive(Clone, Copy)]
struct Ahead {
    /// The entry that was asked for last.
    spot: Option<Spot>,
    /// How many entries the cursor is behind that.
    distance: u32,
    /// How many steps were made since the last seek.
    steps: u32,
}

impl Ahead {
    const START: Ahead = Ahead {
        spot: None,
        distance: 0,
        steps: 0,
    };

    /// Most scans end before this many steps, and what is fetched further ahead of their end is wasted.
    const STEPS: u32 = 8;

    /// Time for memory to answer, in steps.
    const DISTANCE: u32 = 6;

    /// The cursor moved forward by one entry, to `spot`. Until it fetches further ahead it fetches the next key: in a merge others
    /// give entries before that.
    fn step(&mut self, memtable: &Memtable, spot: Option<Spot>) {
        self.steps = self.steps.saturating_add(1);
        if self.steps < Self::STEPS {
            return memtable.fetch_behind(spot);
        }
        self.distance = self.distance.saturating_sub(1);
        if self.distance == 0 {
            self.spot = spot;
        }
        // Two at a time, until it is far enough ahead.
        for _ in 0..2 {
            if self.distance < Self::DISTANCE
                && let Some(spot) = self.spot
            {
                self.spot = memtable.tree.fetch_behind(spot);
                self.distance += 1;
            }
        }
    }
}

impl Memtable {
    /// Has the record of the next key brought to the cache.
    // A call, since this is for seeks and first steps: `Tree::fetch_behind` is inlined where walks are long.
    #[inline(never)]
    fn fetch_behind(&self, spot: Option<Spot>) {
        if let Some(spot) = spot {
            self.tree.fetch_behind(spot);
        }
    }
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        MemtableCursor {
            memtable,
            spot: None,
            key_position: 0,
            key_len: 0,
            value_len: 0,
            sequence: 0,
            kind: EntryKind::Delete,
            ahead: Ahead::START,
        }
    }

    /// Leaves the current entry.
    pub fn rest(&mut self) {
        self.go_to(None);
    }

    /// Whether the cursor stands on an entry with a smaller sequence.
    fn is_older(&self, sequence: Sequence) -> bool {
        self.spot.is_some() && self.sequence < sequence
    }

    /// Goes to an entry that is not the next one.
    fn go_to(&mut self, spot: Option<Spot>) {
        self.ahead = Ahead::START;
        self.stand_on(spot);
    }

    fn stand_on(&mut self, spot: Option<Spot>) {
        self.spot = spot;
        if let Some(spot) = spot {
            let record = self.memtable.tree.record(spot.record);
            (self.key_position, self.key_len) = (record.key_position(), record.key.len());
            (self.sequence, self.kind) = (record.sequence, record.kind);
            self.value_len = record.value_len();
        }
    }

    /// The position and the length of the value.
    fn value_extent(&self) -> (u64, usize) {
        match self.spot {
            None => (0, 0),
            _ => (self.key_position + self.key_len as u64, self.value_len),
        }
    }
}

impl Cursor for MemtableCursor {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        let arena = self.memtable.tree.arena();
        self.spot.is_some().then(|| Here {
            key: arena.bytes(self.key_position, self.key_len),
            sequence: self.sequence,
            kind: self.kind,
        })
    }

    fn value(&mut self) -> Pinned {
        match self.value_extent() {
            (_, 0) => Pinned::empty(),
            (start, len) => self.memtable.tree.arena().pin(start, len),
        }
    }

    fn value_bytes(&self) -> &[u8] {
        let (start, len) = self.value_extent();
        self.memtable.tree.arena().bytes(start, len)
    }

    fn seek_first(&mut self) -> Result<()> {
        self.go_to(self.memtable.tree.first());
        Ok(())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.go_to(self.memtable.tree.last());
        Ok(())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let tree = &self.memtable.tree;
        let target = tree.target(key, sequence);
        let spot = target.and_then(|target| tree.find(&target));
        self.memtable.fetch_behind(spot);
        self.go_to(spot);
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let tree = &self.memtable.tree;
        let target = tree.target(key, MAX_SEQUENCE);
        self.go_to(target.and_then(|target| tree.find_before(&target)));
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.next_seen(MAX_SEQUENCE)
    }

    fn next_seen(&mut self, visible: Sequence) -> Result<()> {
        let Some(spot) = self.spot else {
            return Ok(());
        };
        let tree = &self.memtable.tree;
        let version = match visible {
            // All of them are passed.
            0 => None,
            _ => tree.version_behind(spot, visible),
        };
        match version {
            None => {
                let next = tree.behind(spot);
                self.ahead.step(&self.memtable, next);
                self.stand_on(next);
            }
            version => self.stand_on(version),
        }
        Ok(())
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        let Some(spot) = self.spot.filter(|_| self.is_older(sequence)) else {
            return Ok(());
        };
        if self.key() >= to {
            return Ok(());
        }
        if self.memtable.is_older(sequence) {
            return self.seek(to, MAX_SEQUENCE);
        }
        self.go_to(self.memtable.tree.pass(spot, to, sequence));
        Ok(())
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        let Some(spot) = self.spot.filter(|_| self.is_older(sequence)) else {
            return Ok(());
        };
        if self.key() < from {
            return Ok(());
        }
        if self.memtable.is_older(sequence) {
            return self.seek_before(from);
        }
        self.go_to(self.memtable.tree.pass_back(spot, from, sequence));
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        if let Some(spot) = self.spot {
            self.go_to(self.memtable.tree.before(spot));
        }
        Ok(())
    }
}
