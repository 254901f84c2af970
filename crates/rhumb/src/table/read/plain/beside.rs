//! Entries of other sources that are shown between plain ones.

use super::{FIRST_STRIDE, Limits, PlainEntries, end};
use crate::entry::{Direction, Sequence};
use crate::table::read::cursor::TableCursor;

impl PlainEntries {
    /// Whether the next entry of the block, at which these end, is known to be plain, and lies behind that of another source,
    /// whose key they do not reach. That may then be shown although these stay lent, and [they go on behind
    /// it](PlainEntries::go_on_behind).
    pub fn lies_behind(&mut self, key: &[u8], sequence: Sequence) -> bool {
        let (view, next) = (self.block.view(), self.slot + 1);
        let is_known = self.all_plain && self.end == next && next < view.count();
        if !is_known || self.direction == Direction::Backward {
            return false;
        }
        self.hides_next = view.has_key(next, key);
        !self.hides_next || view.sequence(next) < sequence
    }

    /// Goes on forwards from an entry of another source that was shown in between, at `key`, as far as new `limits` allow. Moves over
    /// an entry that is hidden by it; `key` is then that of the entry shown last again. Returns whether it is.
    pub fn go_on_behind(&mut self, limits: Limits<'_>, key: &mut Vec<u8>) -> bool {
        let hid = std::mem::take(&mut self.hides_next);
        if hid {
            // Strides are without a walk.
            if self.strides.is_none() {
                self.block.view().next_key(self.slot, &mut self.walk, key);
            }
            self.slot += 1;
        }
        let view = self.block.view();
        (self.end, self.goes_on) = end(&view, self.slot + 1, FIRST_STRIDE, limits);
        self.known = self.end;
        hid
    }
}

impl TableCursor {
    /// Takes back what it has lent forwards, and moves to the entry behind the one shown last, in the same block, given a `key`
    /// between the keys of both.
    pub fn take_back_behind(&mut self, plain: PlainEntries, key: &[u8]) {
        self.take_back(plain, key);
        // Both keys begin with all that this step takes from the one before.
        self.step_on();
    }
}
