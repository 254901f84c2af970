//! LIPP over the immutable keys of a table.

use super::KIND;
use super::form::{SlotTree, lay};
use super::plant::slots_for;
use crate::IndexError;
use crate::bytes::Reader;
use crate::kind::Kind;
use crate::kinds::shared::exact::{Layout, Place};
use crate::knob::Settings;

/// A tree of slots in the form that exact kinds share.
#[derive(Debug)]
pub(super) struct Table(SlotTree);

/// Slots of a node in a table. It needs fewer because nothing is inserted.
fn slots_in_table(keys: usize) -> u32 {
    match keys {
        0..4 => keys as u32,
        4..100_000 => 3 * keys as u32,
        _ => slots_for(keys),
    }
}

impl Layout for Table {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn lay(_: &Settings, entries: &[(u64, u64)], out: &mut Vec<u8>) -> Result<(), IndexError> {
        lay(KIND.name, entries, slots_in_table, out)
    }

    fn open(bytes: &[u8], _numbers: usize) -> Result<Self, IndexError> {
        SlotTree::open(&mut Reader::new(KIND.name, bytes)).map(Table)
    }

    #[inline]
    fn find(&self, bytes: &[u8], number: u64) -> Place {
        self.0.find(bytes, number)
    }
}
