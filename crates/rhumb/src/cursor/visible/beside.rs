//! Entries of other sources between plain ones, which stay lent meanwhile.

use std::ops::Bound;

use super::{STEPS_BEFORE_SEEK, VisibleCursor};
use crate::entry::{Direction, EntryKind, is_behind, is_same, set_key};
use crate::error::Result;

/// So many keys in a row are shown beside plain entries: where there are more, another source has the next ones to lend.
const MOST_BESIDE: u32 = 4;

impl VisibleCursor {
    /// Shows the next key where plain entries end at one of another source: that, or, when it was shown, the next plain one. What is
    /// lent stays so, which saves the merge two steps with their comparisons, and that the same block is lent again. Returns `false`
    /// where only the merge tells what follows.
    pub(super) fn next_beside(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        if !self.coverage.is_empty() {
            return Ok(false);
        }
        let mut steps = 0;
        while self.is_on_key_beside() {
            if steps == STEPS_BEFORE_SEEK {
                return Ok(false);
            }
            self.versions.step_beside()?;
            steps += 1;
        }
        if steps > 0 && self.next_plain_behind(to)? {
            return Ok(true);
        }
        Ok(self.show_beside(to))
    }

    /// Whether the entry beside plain ones is of the key shown last: that itself, or an older version.
    #[inline]
    fn is_on_key_beside(&self) -> bool {
        let here = self.versions.beside();
        here.is_some_and(|here| is_same(here.key, &self.key))
    }

    /// Shows the next plain key, if it comes before the next entry beside, after that of before was left.
    fn next_plain_behind(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let limits = self.coverage.limits(Direction::Forward, to);
        let (Some(limits), Some(plain)) = (limits, &mut self.plain) else {
            return Ok(false);
        };
        // The key of a hidden entry is passed in both sources.
        if self.versions.go_on_behind(plain, limits, &mut self.key) {
            self.beside = 0;
        }
        let shown = self.next_plain() || self.next_plain_block(to)?;
        if shown {
            self.beside = 0;
        }
        Ok(shown)
    }

    /// Shows the key of the entry beside plain ones, if that is the newest visible version and comes next.
    fn show_beside(&mut self, to: Bound<&[u8]>) -> bool {
        let (Some(here), Some(plain)) = (self.versions.beside(), &mut self.plain) else {
            return false;
        };
        let comes_next = self.beside < MOST_BESIDE
            && here.kind == EntryKind::Put
            && here.sequence <= self.visible
            && !is_behind(here.key, to)
            && plain.lies_behind(here.key, here.sequence);
        if comes_next {
            #[cfg(test)]
            SHOWN_BESIDE.with(|count| count.set(count.get() + 1));
            set_key(&mut self.key, here.key);
            self.beside += 1;
        }
        comes_next
    }
}

#[cfg(test)]
thread_local! {
    static SHOWN_BESIDE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many keys were shown in this thread beside plain entries.
#[cfg(test)]
#[cfg(not(loom))]
pub(in crate::cursor) fn shown_beside() -> u64 {
    SHOWN_BESIDE.get()
}
