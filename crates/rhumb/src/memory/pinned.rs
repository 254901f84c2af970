//! A value handed out where it lies, without a copy.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Memory that can hand out one of its ranges for as long as it is held.
pub(crate) trait Pin: Send + Sync {
    /// The bytes at `start..start + len`; empty where the range is not inside.
    fn bytes(&self, start: u64, len: usize) -> &[u8];
}

/// A range of bytes that keeps the memory it lies in alive: a block of a table, or the arena of a
/// memtable. Cloning it copies no bytes.
#[derive(Clone)]
pub struct Pinned {
    memory: Option<Arc<dyn Pin>>,
    start: u64,
    len: usize,
}

impl Pinned {
    /// Pins `len` bytes at `start` of `memory`.
    pub(crate) fn new(memory: Arc<dyn Pin>, start: u64, len: usize) -> Self {
        Pinned {
            memory: Some(memory),
            start,
            len,
        }
    }

    /// No bytes, pinning nothing.
    pub(crate) fn empty() -> Self {
        Pinned {
            memory: None,
            start: 0,
            len: 0,
        }
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory
            .as_ref()
            .map_or(&[], |m| m.bytes(self.start, self.len))
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("bytes", &self.len).finish()
    }
}

impl Pin for Box<[u8]> {
    fn bytes(&self, start: u64, len: usize) -> &[u8] {
        let start = start as usize;
        self.get(start..start.saturating_add(len))
            .unwrap_or_default()
    }
}
