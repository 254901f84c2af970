//! A cursor over a memtable.

use std::sync::Arc;

use super::Memtable;
use super::list::NONE;
use crate::entry::{Cursor, EntryKind, Here, MAX_SEQUENCE, Sequence};
use crate::error::Result;
use crate::memory::Pinned;

/// Goes over the entries of a memtable, including those inserted in the meantime. It never fails.
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    node: u32,
    // Copied from the record at `node`, since callers read these most often.
    key_position: u64,
    key_len: usize,
    sequence: Sequence,
    kind: EntryKind,
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        MemtableCursor {
            memtable,
            node: NONE,
            key_position: 0,
            key_len: 0,
            sequence: 0,
            kind: EntryKind::Delete,
        }
    }

    /// Whether the cursor stands on an entry with a smaller sequence.
    fn is_older(&self, sequence: Sequence) -> bool {
        self.node != NONE && self.sequence < sequence
    }

    fn go_to(&mut self, node: u32) {
        self.node = node;
        if node != NONE {
            let record = self.memtable.list.record(node);
            (self.key_position, self.key_len) = (record.key_position(), record.key.len());
            (self.sequence, self.kind) = (record.sequence, record.kind);
        }
    }
}

impl Cursor for MemtableCursor {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        let arena = self.memtable.list.arena();
        (self.node != NONE).then(|| Here {
            key: arena.bytes(self.key_position, self.key_len),
            sequence: self.sequence,
            kind: self.kind,
        })
    }

    fn value(&mut self) -> Pinned {
        let list = &self.memtable.list;
        match self.node {
            NONE => Pinned::empty(),
            node => list.record(node).value(list.arena()),
        }
    }

    fn value_bytes(&self) -> &[u8] {
        let list = &self.memtable.list;
        match self.node {
            NONE => &[],
            node => {
                let (start, len) = list.record(node).value_extent();
                list.arena().bytes(start, len)
            }
        }
    }

    fn seek_first(&mut self) -> Result<()> {
        self.go_to(self.memtable.list.first());
        Ok(())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.go_to(self.memtable.list.last());
        Ok(())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let (_, at) = self.memtable.list.find(key, sequence);
        self.go_to(at);
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let (before, _) = self.memtable.list.find(key, MAX_SEQUENCE);
        self.go_to(before);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        if self.node != NONE {
            self.go_to(self.memtable.list.next(self.node));
        }
        Ok(())
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        if !self.is_older(sequence) || self.key() >= to {
            return Ok(());
        }
        if self.memtable.is_older(sequence) {
            return self.seek(to, MAX_SEQUENCE);
        }
        self.go_to(self.memtable.list.pass(self.node, to, sequence));
        Ok(())
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        if !self.is_older(sequence) || self.key() < from {
            return Ok(());
        }
        if self.memtable.is_older(sequence) {
            return self.seek_before(from);
        }
        self.go_to(self.memtable.list.pass_back(self.node, from, sequence));
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        // Links lead forward only, so going back needs a search.
        if let Some(here) = self.here() {
            let (before, _) = self.memtable.list.find(here.key, here.sequence);
            self.go_to(before);
        }
        Ok(())
    }
}
