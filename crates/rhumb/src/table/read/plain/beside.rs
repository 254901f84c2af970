//! Entries of other sources that are shown between plain ones.

use super::stretch::{FIRST_STRIDE, Stretch};
use super::{Limits, PlainEntries};
use crate::entry::Sequence;
use crate::table::read::cursor::TableCursor;

impl PlainEntries {
    /// Whether the next entry of the block, before which a limit ends these, is known to be plain, and lies behind that of another
    /// source, whose key is the last limit. That may then be shown although these stay lent, and [they go on behind
    /// it](PlainEntries::go_on_behind). Only forwards.
    pub fn lies_behind(&mut self, key: &[u8], sequence: Sequence) -> bool {
        let (view, next) = (self.block.view(), self.slot + 1);
        if !self.all_plain || self.stretch.end != next || next >= view.count() {
            return false;
        }
        debug_assert!(!self.stretch.meets_last || view.has_key(next, key));
        let is_same = self.stretch.meets_last || view.has_key(next, key);
        let lies_behind = !is_same || view.sequence(next) < sequence;
        self.hides_next = is_same && lies_behind;
        lies_behind
    }

    /// Goes on forwards from an entry of another source that was shown in between, at `key`, as far as new `limits` allow. Moves over
    /// the next entry if that is hidden by it, and returns whether it is.
    pub fn go_on_behind(&mut self, limits: Limits<'_>, key: &mut Vec<u8>) -> bool {
        let hid = std::mem::take(&mut self.hides_next);
        if hid {
            // The key stays the same; only the walk has to move, which strides have none of.
            if self.strides.is_none() {
                self.block.view().next_key(self.slot, &mut self.walk, key);
            }
            self.slot += 1;
        }
        let view = self.block.view();
        self.stretch = Stretch::forwards(&view, self.slot + 1, FIRST_STRIDE, limits);
        self.known = self.stretch.end;
        hid
    }
}

impl TableCursor {
    /// Takes back what it has lent forwards, and moves to the entry behind the one shown last, in the same block, given a `key`
    /// between the keys of both.
    pub fn take_back_behind(&mut self, plain: PlainEntries, key: &[u8]) {
        self.take_back(plain, key);
        // It lies between the two keys, so it begins with all that they share, which is what the step keeps.
        self.step_on();
    }
}
