//! Entries of other sources between plain ones, which stay lent meanwhile.

use std::ops::Bound;

use super::{STEPS_BEFORE_SEEK, VisibleCursor};
use crate::entry::{Cursor, Direction, EntryKind, is_behind, is_same, set_key};
use crate::error::Result;

/// So many keys in a row of a source that lends entries are shown beside those of another: where there are more, it has the next ones
/// to lend.
const MOST_BESIDE: u32 = 4;

impl VisibleCursor {
    /// Shows the next key where plain entries end at one of another source: that, or, when it was shown, the next plain one. What is
    /// lent stays so, which saves the merge two steps with their comparisons, and that the same block is lent again. Returns `false`
    /// where only the merge tells what follows; it has left a key that was shown beside then.
    pub(super) fn next_beside(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        if self.beside > 0 {
            if !self.leave_beside()? {
                return Ok(false);
            }
            if self.next_plain_behind(to)? {
                return Ok(true);
            }
        }
        Ok(self.coverage.is_empty() && self.show_beside(to))
    }

    /// Moves the other sources behind the versions of the key shown beside. Returns `false` if there are so many that they are better
    /// passed by a seek.
    fn leave_beside(&mut self) -> Result<bool> {
        for _ in 0..STEPS_BEFORE_SEEK {
            self.versions.step_beside()?;
            let here = self.versions.beside().and_then(Cursor::here);
            if !here.is_some_and(|here| is_same(here.key, &self.key)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shows the next plain key, if it comes before the next entry beside.
    fn next_plain_behind(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let limits = self.coverage.limits(Direction::Forward, to);
        let (Some(limits), Some(plain)) = (limits, &mut self.plain) else {
            return Ok(false);
        };
        // The table then stands on the hidden entry, which the merge leaves as it does any other that was shown.
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
        let (Some(source), Some(plain)) = (self.versions.beside(), &mut self.plain) else {
            return false;
        };
        let Some(here) = source.here() else {
            return false;
        };
        // Up to the bound it is not behind the next plain entry either, also if plain entries end at the bound.
        let comes_next = (self.beside < MOST_BESIDE || !source.lends())
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
