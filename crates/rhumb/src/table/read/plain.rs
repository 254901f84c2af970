//! Plain entries of a block, which a walk shows one after the other without merging them with anything.

mod beside;
mod stretch;

use rhumb_index::search::{LINE_BYTES, prefetch, prefetch_line};

use self::stretch::{FIRST_STRIDE, Stretch};
use super::cursor::TableCursor;
use super::loaded::LoadedBlock;
use super::rows::{Even, Rows};
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::entry::{Direction, Sequence, set_key};
use crate::error::Result;
use crate::memory::{Pinned, Pins};
use crate::table::block::{BlockView, Strides, Walk};

/// Where not all entries of a block are plain, so many are looked at together.
const LOOKED_AT: usize = 16;

/// Keys that none of the entries reaches.
pub(crate) type Limits<'k> = [Option<&'k [u8]>; 3];

/// The value of the entry so far ahead is prefetched, and at first those up to there. Of 6 and 12 entries, 12 made scans faster by
/// a fiftieth.
const AHEAD: usize = 12;

/// Where keys or values have different lengths, what lies so many bytes behind the start of a value is prefetched.
const BYTES_AHEAD: usize = 768;

/// Of one value so many bytes are prefetched at most, and at first so many of all: the processor itself fetches ahead in long ones.
const MOST_AHEAD: usize = 128;
const MOST_AT_FIRST: usize = 1536;

/// Which entries a cursor may lend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach<'k> {
    /// Where the cursor moves.
    pub direction: Direction,
    pub limits: Limits<'k>,
    /// The largest sequence that is visible.
    pub visible: Sequence,
    /// Whether values will be read.
    pub with_values: bool,
}

/// Entries of a block, lent by a cursor that moves in one direction. They are plain: values in the block, each the newest
/// visible version of its key, with keys between those that the rest of a merge may have.
#[derive(Debug)]
pub(crate) struct PlainEntries {
    block: LoadedBlock,
    direction: Direction,
    /// The entry shown last; backwards, before the first step, the one behind the first entry that is lent.
    slot: usize,
    /// The same when they were lent; 0 in a block that was gone into from the one before.
    lent_at: usize,
    /// Whether they were lent in a block before.
    has_gone_on: bool,
    /// Where keys and values lie, if they do at equal distances.
    strides: Option<Strides>,
    /// Whether values are prefetched.
    fetches_values: bool,
    /// Where a walk over keys of different lengths is.
    walk: Option<Walk>,
    /// Forwards, the entries behind `slot` and before this slot are known to be plain; backwards, those before `slot` and
    /// from this one on.
    known: usize,
    /// How far they go.
    stretch: Stretch,
    /// Whether each entry is a visible put of another key.
    all_plain: bool,
    /// Whether the next entry is hidden by one that [was shown before it](PlainEntries::lies_behind).
    hides_next: bool,
    visible: Sequence,
    pins: Pins,
    /// The length of the shortest value that was pinned.
    shortest_pinned: usize,
}

impl PlainEntries {
    /// Moves to the next entry forwards, and `key` from the key of this one to that of the next one. Returns `false`, and
    /// stays, at the end.
    #[inline]
    pub fn next(&mut self, key: &mut Vec<u8>) -> bool {
        let next = self.slot + 1;
        if next >= self.known && (self.known >= self.stretch.end || !self.look_forward()) {
            return false;
        }
        #[cfg(test)]
        count_visit();
        let raw = &self.block.bytes;
        if !(self.strides).is_some_and(|strides| strides.key_into(raw, next, key)) {
            self.next_key(key);
        }
        self.slot = next;
        self.prefetch_ahead();
        true
    }

    /// Prefetches the values of the first entries.
    #[inline]
    fn prefetch_first(&self) {
        if !self.fetches_values {
            return;
        }
        let (start, bytes) = match self.strides {
            Some(strides) => {
                let (start, len) = strides.value_place(self.slot + 1);
                let entries = self.stretch.end.saturating_sub(self.slot + 1).min(AHEAD);
                (start, len * entries)
            }
            None => {
                let view = self.block.view();
                (
                    view.value_near(self.slot, self.walk.as_ref()).0,
                    BYTES_AHEAD,
                )
            }
        };
        prefetch(&self.block.bytes, start..start + bytes.min(MOST_AT_FIRST));
    }

    /// Prefetches one value further on.
    #[inline]
    fn prefetch_ahead(&self) {
        if let Some(strides) = self.strides.filter(|_| self.fetches_values) {
            let (start, len) = strides.value_place(self.slot + AHEAD);
            prefetch(&self.block.bytes, start..start + len.min(MOST_AHEAD));
        }
    }

    /// Changes `key` from that of the entry to that of the next one, and prefetches what lies behind the value of that one.
    // Inlined, or at least made anew in each crate that walks: a call into another crate is an indirect branch.
    #[inline]
    fn next_key(&mut self, key: &mut Vec<u8>) {
        let next = self.slot + 1;
        (self.block.view()).next_key(self.slot, &mut self.walk, key);
        let place = (self.walk.as_ref()).and_then(|walk| walk.value_of_put_at(next));
        // Without a walk, values have equal lengths.
        if let Some((start, _)) = place.filter(|_| self.fetches_values) {
            let ahead = self.bytes().as_ptr().wrapping_add(start + BYTES_AHEAD);
            prefetch_line(ahead);
            prefetch_line(ahead.wrapping_add(LINE_BYTES));
        }
    }

    /// Moves over up to `most` entries forwards, and sets `rows` to them, with the entry shown last in front if
    /// `with_current`; their values are ranges of [the block](PlainEntries::bytes). Moves `key` as [`PlainEntries::next`] does.
    pub fn next_many(
        &mut self,
        with_current: bool,
        most: usize,
        key: &mut Vec<u8>,
        rows: &mut Rows,
    ) {
        let Some(strides) = self.strides else {
            rows.clear();
            if with_current {
                rows.push(key, self.value_place());
            }
            for _ in 0..most {
                if !self.next(key) {
                    break;
                }
                rows.push(key, self.value_place());
            }
            return;
        };
        let first = self.slot + usize::from(!with_current);
        let count = self.step_over(most) + usize::from(with_current);
        let (values, value) = strides.value_place(first);
        let keys = rows.set_even(Even {
            count,
            key: strides.key_len(),
            values,
            value,
        });
        strides.keys_into(&self.block.bytes, first, keys);
        if let Some((last, _)) = rows.get(count.wrapping_sub(1), &self.block.bytes) {
            set_key(key, last);
        }
    }

    /// Moves over up to `most` entries forwards. Returns over how many.
    fn step_over(&mut self, most: usize) -> usize {
        let mut left = most;
        while left > 0 && (self.slot + 1 < self.known || self.look_forward()) {
            let known = self.known.saturating_sub(self.slot + 1).min(left);
            #[cfg(test)]
            (0..known).for_each(|_| count_visit());
            self.slot += known;
            left -= known;
        }
        most - left
    }

    /// Where the value of the entry starts in [the block](PlainEntries::bytes), and its length.
    #[inline]
    pub fn value_place(&self) -> (usize, usize) {
        if let Some(strides) = &self.strides {
            return strides.value_place(self.slot);
        }
        let walked = (self.walk.as_ref()).and_then(|walk| walk.value_of_put_at(self.slot));
        walked.unwrap_or_else(|| self.block.view().value_of_put(self.slot))
    }

    /// The raw form of the block.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.block.bytes
    }

    /// Moves to the next entry backwards, and sets `key` to its key. Returns `false`, and stays, at the end.
    #[inline]
    pub fn prev(&mut self, key: &mut Vec<u8>) -> bool {
        if self.slot <= self.known && !self.look_backward() {
            return false;
        }
        #[cfg(test)]
        count_visit();
        self.slot -= 1;
        self.block.view().key_into(self.slot, key);
        true
    }

    /// Looks at some more entries. Returns whether the next one is plain.
    #[inline(never)]
    fn look_forward(&mut self) -> bool {
        let to = self.stretch.end.min(self.known + LOOKED_AT);
        if let Some(other) = (self.known..to).find(|slot| !self.is_plain(*slot)) {
            self.stretch.cut(other);
        }
        self.known = self.stretch.end.min(to);
        self.slot + 1 < self.known
    }

    /// As above, backwards.
    #[inline(never)]
    fn look_backward(&mut self) -> bool {
        let from = self.stretch.end.max(self.known.saturating_sub(LOOKED_AT));
        if let Some(other) = (from..self.known).rev().find(|slot| !self.is_plain(*slot)) {
            self.stretch.cut(other + 1);
        }
        self.known = self.stretch.end.max(from);
        self.slot > self.known
    }

    /// Whether the entry at `slot`, which is not the first of the block, is a visible put of another key than the entry before
    /// it: behind the newest version of a key are its older ones.
    fn is_plain(&self, slot: usize) -> bool {
        let view = self.block.view();
        view.is_put(slot, self.visible) && !view.is_same_key(slot - 1, slot)
    }

    /// Lends more entries of the block behind the end that was come to, as far as `limits` allow, which are those of before or
    /// further away. Returns whether there may be any.
    #[inline(never)]
    pub fn extend(&mut self, limits: Limits<'_>) -> bool {
        if !self.stretch.goes_on {
            return false;
        }
        let view = self.block.view();
        let old = self.stretch.end;
        let stride = FIRST_STRIDE.max(old.abs_diff(self.lent_at));
        self.stretch = Stretch::within(&view, self.direction, old, stride, limits);
        if self.all_plain {
            self.known = self.stretch.end;
        }
        self.stretch.end != old
    }

    /// How far the entries of the next block are within limits, if the first one is plain and among them.
    fn stretch_of_next(&self, next: &BlockView<'_>, limits: Limits<'_>) -> Option<Stretch> {
        let stretch = Stretch::forwards(next, 0, FIRST_STRIDE, limits);
        let is_plain = stretch.end > 0 && !next.continues() && next.is_put(0, self.visible);
        is_plain.then_some(stretch)
    }

    /// Moves to the first entry of the next block, given [its stretch](PlainEntries::stretch_of_next), and `key` to its key.
    fn go_into(&mut self, next: LoadedBlock, stretch: Stretch, key: &mut Vec<u8>) {
        #[cfg(test)]
        count_visit();
        let view = next.view();
        self.walk = view.walk_to(0, key);
        self.all_plain = view.are_all_puts(self.visible);
        self.strides = view.strides();
        (self.slot, self.lent_at, self.has_gone_on) = (0, 0, true);
        self.stretch = stretch;
        self.known = if self.all_plain { stretch.end } else { 1 };
        self.pins.let_go();
        self.block = next;
        self.prefetch_first();
    }

    /// Whether fewer entries than `most` are lent ahead, and there may be more.
    pub fn falls_short_of(&self, most: usize) -> bool {
        self.stretch.goes_on && self.stretch.end.abs_diff(self.slot) <= most
    }

    /// Whether limits may allow more entries of the block behind [the end](PlainEntries::extend) that is known.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.stretch.goes_on
    }

    /// Whether they go forwards, and the entry shown last is the last one of the block.
    #[inline]
    pub fn ends_block(&self) -> bool {
        self.direction == Direction::Forward && self.slot + 1 == self.block.view().count()
    }

    /// Whether any entry was passed.
    pub fn has_moved(&self) -> bool {
        self.has_gone_on || self.slot != self.lent_at
    }

    /// The sequence of the entry.
    #[inline]
    pub fn sequence(&self) -> Sequence {
        self.block.view().sequence(self.slot)
    }

    /// The value of the entry.
    #[inline]
    pub fn value_bytes(&self) -> &[u8] {
        let (start, len) = self.value_place();
        self.bytes().get(start..start + len).unwrap_or_default()
    }

    /// The value of the entry, pinned.
    #[inline]
    pub fn value(&mut self) -> Pinned {
        let value = (self.block).value(self.slot, self.walk.as_ref(), &mut self.pins);
        self.shortest_pinned = self.shortest_pinned.min(value.len());
        value
    }
}

impl TableCursor {
    /// Lends entries of the current block: forwards those behind the current one, which is a put, as far as their keys are
    /// below all limits; backwards the current one, the oldest version of its key, and those before it, as far as their
    /// keys are above all limits. There may be more than these, [further on](PlainEntries::extend). Until they are [given
    /// back](TableCursor::take_back), or the cursor seeks, the cursor is invalid. Puts them into a place that is empty, and
    /// stays so if there are too few.
    pub fn lend(&mut self, reach: Reach<'_>, lent: &mut Option<PlainEntries>) {
        let Some(block) = &self.here else {
            return;
        };
        let (view, behind) = (block.view(), self.slot + 1);
        let Some(stretch) = Stretch::worth_lending(&view, behind, reach) else {
            return;
        };
        let slot = match reach.direction {
            Direction::Forward => self.slot,
            Direction::Backward => behind,
        };
        let all_plain = view.are_all_puts(reach.visible);
        if reach.direction == Direction::Forward {
            self.table.prefetch_behind(block, self.slot);
        }
        let strides = view.strides();
        let Some(block) = self.here.take() else {
            return;
        };
        let plain = lent.insert(PlainEntries {
            direction: reach.direction,
            slot,
            lent_at: slot,
            has_gone_on: false,
            strides,
            fetches_values: reach.with_values && reach.direction == Direction::Forward,
            walk: self.walk.take(),
            known: if all_plain { stretch.end } else { behind },
            stretch,
            all_plain,
            hides_next: false,
            visible: reach.visible,
            pins: std::mem::take(&mut self.pins),
            shortest_pinned: usize::MAX,
            block,
        });
        plain.prefetch_first();
    }

    /// Goes on with what it has lent forwards, and whose end was come to: moves it, and `key`, to the first entry of the next
    /// block, if that is plain as well and `limits` allow it. Returns `false`, and leaves it where it was, otherwise.
    ///
    /// # Errors
    /// If the next block cannot be read or is damaged; what was lent then stays where it was.
    pub fn lend_next(
        &mut self,
        plain: &mut PlainEntries,
        limits: Limits<'_>,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        let next = plain.block.number + 1;
        if !plain.ends_block() || next >= self.table.blocks() {
            return Ok(false);
        }
        self.source.note_pinned(plain.shortest_pinned);
        let block = self.table.block_going_forward(next, &mut self.source)?;
        let Some(stretch) = plain.stretch_of_next(&block.view(), limits) else {
            // The next step enters it in the usual way.
            self.refused = Some(block);
            return Ok(false);
        };
        match plain.has_gone_on {
            true => self.table.prefetch_much(next + 1),
            false => self.table.prefetch_behind(&block, 0),
        }
        plain.go_into(block, stretch, key);
        Ok(true)
    }

    /// Takes back what it has lent, and moves to where that was left: forwards to the entry shown last, at `key`; backwards
    /// to the one before it.
    pub fn take_back(&mut self, plain: PlainEntries, key: &[u8]) {
        self.source.note_pinned(plain.shortest_pinned);
        self.pins = plain.pins;
        match plain.direction {
            Direction::Forward => {
                set_key(&mut self.key, key);
                self.walk = plain.walk;
                self.here = Some(plain.block);
                self.note(plain.slot);
            }
            // The first entry of a block is not lent.
            Direction::Backward => self.stand(plain.block, plain.slot.saturating_sub(1)),
        }
    }
}
