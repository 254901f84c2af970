//! A cursor over a memtable.

use std::sync::Arc;

use super::Memtable;
use super::list::NONE;
use crate::entry::{Cursor, EntryKind, MAX_SEQUENCE, Sequence};
use crate::error::Result;
use crate::memory::Pinned;

/// Goes over the entries of a memtable, those inserted meanwhile included. Its calls never fail.
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    node: u32,
    // What is asked for most, as the record at `node` has it.
    key_position: u64,
    key_len: usize,
    sequence: Sequence,
}

impl MemtableCursor {
    pub(super) fn new(memtable: Arc<Memtable>) -> Self {
        MemtableCursor {
            memtable,
            node: NONE,
            key_position: 0,
            key_len: 0,
            sequence: 0,
        }
    }

    fn go_to(&mut self, node: u32) {
        self.node = node;
        if node == NONE {
            (self.key_position, self.key_len, self.sequence) = (0, 0, 0);
        } else {
            let record = self.memtable.list.record(node);
            let (position, len) = (record.key_position(), record.key.len());
            (self.key_position, self.key_len, self.sequence) = (position, len, record.sequence);
        }
    }
}

impl Cursor for MemtableCursor {
    fn valid(&self) -> bool {
        self.node != NONE
    }

    fn key(&self) -> &[u8] {
        let arena = self.memtable.list.arena();
        arena.bytes(self.key_position, self.key_len)
    }

    fn sequence(&self) -> Sequence {
        self.sequence
    }

    fn kind(&self) -> EntryKind {
        match self.node {
            NONE => EntryKind::Delete,
            node => self.memtable.list.record(node).kind,
        }
    }

    fn value(&self) -> Pinned {
        let list = &self.memtable.list;
        match self.node {
            NONE => Pinned::empty(),
            node => list.record(node).value(list.arena()),
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
        if self.valid() {
            self.go_to(self.memtable.list.next(self.node));
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        if self.valid() {
            // Links lead forward only, so this is a search.
            let (before, _) = self.memtable.list.find(self.key(), self.sequence);
            self.go_to(before);
        }
        Ok(())
    }
}
