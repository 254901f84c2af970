//! Where a block that is cut by bytes ends: at the shortest separator between two of its last keys.
//!
//! An index over blocks keeps a separator for each. On keys with a structure, such as paths, the shortest separator among a
//! tenth of a block's keys takes about half of the bytes of one between any two of them.

use std::convert::Infallible;
use std::ops::Range;

use rhumb_index::search::common_prefix;

use super::{BlockBuilder, NewEntry, Shape, count_entry, note_file};
use crate::entry::EntryKind;
use crate::table::block::{FRAME_BYTES, Puts};

/// About what a put takes besides its key and its value: two lengths of its key, and one of its value.
const PUT_OVERHEAD_BYTES: usize = 3;

/// Where the last tenth of a block begins. Behind it the block may become smaller again, since its form depends on all entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// The number of entries with which the block came into it: the block may end behind these, or later.
    entries: usize,
    /// What is known of these entries.
    shape: Shape,
}

impl BlockBuilder {
    /// Adds an entry unless the raw form would then exceed `limit` bytes, as [`BlockBuilder::push_within`] does. If it would,
    /// [`BlockBuilder::part`] leaves the entries in the block that it should hold.
    #[inline]
    pub fn push_parting(&mut self, entry: &NewEntry<'_>, limit: usize) -> bool {
        let surely = self.surely_nothing_ends(limit);
        if self.count() == 0 || self.shape.surely_admits(entry, surely) {
            self.add(entry);
            return true;
        }
        let with = self.shape_with(entry);
        let bytes = with.0.most_bytes();
        let fits = bytes <= limit;
        if fits {
            self.add_measured(entry, with);
            if bytes > surely {
                self.late = Some(Late {
                    entries: self.count(),
                    shape: self.shape,
                });
            }
        }
        fits
    }

    /// Up to so many bytes neither the block nor what comes before its last tenth ends.
    #[inline]
    fn surely_nothing_ends(&self, limit: usize) -> usize {
        match self.late {
            Some(_) => limit,
            None => limit - limit / 10,
        }
    }

    /// Adds the first puts, as [`BlockBuilder::push_parting`] does each of them: as many as surely neither end the block nor bring it into
    /// its last tenth, by what is known at once, or once it was measured what the keys share. Returns how many that were.
    pub fn push_early(&mut self, puts: &Puts<'_>, limit: usize) -> usize {
        // Beside deletes and pointers the size may become smaller again with the next put, which is to be looked at before.
        if !self.shape.has_only_puts() {
            return 0;
        }
        let surely = self.surely_nothing_ends(limit);
        match self.push_at_once(puts, surely) {
            0 if self.shape.sharing.entries < self.count() => {
                self.measure();
                self.push_at_once(puts, surely)
            }
            added => added,
        }
    }

    /// Adds as many of the first puts as it is known at once that the raw form takes at most `limit` bytes with them.
    fn push_at_once(&mut self, puts: &Puts<'_>, limit: usize) -> usize {
        let common = |last: &[u8]| match self.count() {
            0 => 0,
            _ => common_prefix(self.first_key(), last),
        };
        let taken = match self.count() {
            0 => FRAME_BYTES,
            _ => self.shape.most_bytes_at_once(common(self.last_key())),
        };
        let room = usize::from(u16::MAX) - self.count().min(usize::from(u16::MAX));
        let mut fit = puts
            .count_within(limit.saturating_sub(taken), PUT_OVERHEAD_BYTES)
            .min(room);
        while fit > 0 {
            let first = puts.part(0..fit);
            let mut with = self.shape;
            with.add_puts(&first);
            if with.most_bytes_at_once(common(first.key(fit - 1))) <= limit {
                self.shape = with;
                self.push_rows(&first);
                return fit;
            }
            // Their sizes or sequences differ so much that entries before them take more as well.
            fit /= 2;
        }
        0
    }

    /// Moves the entries behind the place where the block should end, if it does before `entry`, into `next`, a block without entries.
    pub fn part(&mut self, entry: &NewEntry<'_>, next: &mut BlockBuilder) {
        let Some(late) = self.late.take() else {
            return;
        };
        let separator = |is_new: bool, before: &[u8], behind: &[u8]| match is_new {
            true => common_prefix(before, behind) + 1,
            // Between two versions of a key.
            false => usize::MAX,
        };
        let mut end = self.count();
        let mut shortest = separator(entry.new_key, self.last_key(), entry.key);
        for at in (late.entries..self.count()).rev() {
            let own = separator(!self.repeats(at), self.key(at - 1), self.key(at));
            if own < shortest {
                (end, shortest) = (at, own);
            }
        }
        if end == self.count() {
            return;
        }
        let Ok(()) = self.each(end..self.count(), |entry| {
            next.add(entry);
            Ok::<_, Infallible>(())
        });
        self.keep(end, late);
    }

    /// How many of the first entries are pointers.
    fn pointers_before(&self, entries: usize) -> usize {
        let before = self.rows.iter().take(entries);
        before.filter(|row| row.kind == EntryKind::Pointer).count()
    }

    /// Calls `take` with a range of the entries, as they were added.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn each<E>(
        &self,
        range: Range<usize>,
        mut take: impl FnMut(&NewEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pointers = self.pointers.iter().skip(self.pointers_before(range.start));
        let rows = self.rows.iter().enumerate().take(range.end);
        for (i, row) in rows.skip(range.start) {
            let pointer = match row.kind {
                EntryKind::Pointer => pointers.next().map(|pointer| pointer.to_bytes()),
                _ => None,
            };
            take(&NewEntry {
                key: self.key(i),
                sequence: row.sequence,
                kind: row.kind,
                value: pointer.as_ref().map_or(self.value(i), |bytes| bytes),
                new_key: !self.repeats(i),
            })?;
        }
        Ok(())
    }

    /// Removes the entries behind the first `entries`, which bring the block into its last tenth.
    fn keep(&mut self, entries: usize, late: Late) {
        self.measured();
        let (mut shape, mut files) = (late.shape, Vec::new());
        let before = self
            .pointers
            .iter()
            .take(self.pointers_before(late.entries));
        before.for_each(|pointer| note_file(&mut files, pointer.file));
        let mut rows = self.rows.iter().skip(late.entries);
        let Ok(()) = self.each(late.entries..entries, |entry| {
            count_entry(&mut shape, &files, entry);
            if let Some(pointer) = entry.pointer() {
                note_file(&mut files, pointer.file);
            }
            let with_head = rows.next().map_or(0, |row| row.with_head);
            shape.sharing.add(entry.key.len(), with_head);
            Ok::<_, Infallible>(())
        });
        self.pointers.truncate(self.pointers_before(entries));
        self.files = files;
        self.rows.truncate(entries);
        let last = self.rows.last();
        let (keys, values) = last.map_or((0, 0), |row| (row.key_end, row.value_end));
        self.keys.truncate(keys);
        self.values.truncate(values);
        shape.common = common_prefix(self.key(0), self.key(entries - 1));
        self.shape = shape;
    }
}

#[cfg(test)]
mod tests;
