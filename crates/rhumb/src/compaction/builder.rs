//! Writes sorted entries and range deletes as one table after another.

mod together;

use std::mem;
use std::time::Duration;

use super::batch::Batch;
use super::context::{Context, Counters, NumberedMap};
use super::merge::{Below, Ranges, Survivor, survivors};
use super::values::{Placed, Values};
use super::waiting::Waiting;
use crate::cursor::Lends;
use crate::entry::{EntryKind, Pointer, RangeDeletes};
use crate::error::Result;
use crate::fs::names::FileKind;
use crate::fs::ops;
use crate::options::TierSpec;
use crate::table::{TableSettings, TableWriter};
use crate::tune::{Chooser, Layout};
use crate::version::TableMeta;

/// The files that were written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub tables: Vec<TableMeta>,
    /// The numbers and lengths of value files.
    pub value_files: Vec<(u64, u64)>,
}

/// Where tables end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    /// A table ends when it holds about this many bytes,
    pub table_bytes: u64,
    /// among which one in so many counts of the values that it points to,
    pub values_a_byte: u64,
    /// and before each of these keys, which ascend.
    pub cuts: &'a [&'a [u8]],
}

impl Ends<'_> {
    /// Ends of tables of so many bytes.
    pub fn at(table_bytes: u64) -> Self {
        Ends {
            table_bytes,
            values_a_byte: VALUES_A_BYTE,
            cuts: &[],
        }
    }
}

/// Writes the surviving entries of `cursor`, which merges all inputs, and the surviving range
/// deletes of `ranges`, as tables. On return the tables and their names are durable.
///
/// # Errors
/// If an input cannot be read, a table cannot be written, or the work was cancelled. What was
/// written is removed as far as possible.
pub(super) fn write_tables(
    context: &Context<'_>,
    cursor: &mut impl Lends,
    ranges: Ranges,
    below: Below<'_>,
    (map, ends): (NumberedMap, Ends<'_>),
) -> Result<Written> {
    let mut builder = Builder::new(context, map, ranges.kept.clone(), ends);
    let entries = survivors(context, cursor, &ranges, below, &mut builder);
    let durable = entries.and_then(|()| {
        builder.finish()?;
        let (files, mut sync_time) = (context.files, Duration::ZERO);
        ops::timed(&mut sync_time, || ops::sync_dir(&*files.fs, &files.dir))?;
        Counters::add_time(&context.counters.write_nanos, sync_time);
        Ok(())
    });
    match durable {
        Ok(()) => Ok(builder.into_written()),
        Err(e) => {
            builder.abandon();
            Err(e)
        }
    }
}

/// So many bytes of values apart from their keys count as one of the table that points to them: a collection rewrites
/// tables one by one, and should not take too long for one.
const VALUES_A_BYTE: u64 = 8;

/// About how often the size of a table is estimated.
const ESTIMATES_A_TABLE: u64 = 256;
/// After this many bytes, a writer of tables waits for its turn.
pub(super) const PACE: u64 = 64 << 10;

/// Lets a tuner choose the form of a table that begins.
fn choose(tuner: &Chooser, context: &Context<'_>, settings: &mut TableSettings) {
    let base = Layout::of(context.index, context.table);
    // What is set is told from the first table on, so that gets are timed in its tables too.
    let layout = tuner.choose(&base).unwrap_or(base);
    settings.chosen = layout.to_string();
    (settings.index, settings.spec.partition) = (layout.index, layout.partition);
}

/// Begins a table, whose number is noted in `begun`.
#[inline(never)]
fn begin(
    context: &Context<'_>,
    settings: &mut TableSettings,
    begun: &mut Vec<u64>,
) -> Result<TableWriter> {
    let Context { files, tuner, .. } = context;
    if let Some(tuner) = tuner {
        choose(tuner, context, settings);
    }
    let number = files.new_number();
    begun.push(number);
    let new = TableWriter::create(&files.fs, &files.dir, number, settings)?;
    Ok(match context.keeps_blocks {
        true => new.keeping_blocks(&files.cache),
        false => new,
    })
}

/// Writes tables that follow each other in key order. All versions of a user key are in one table.
///
/// The range deletes are divided among the tables: each takes the part from its first key up to the
/// next table's first key. The first table also takes what lies before its first key, and the last
/// one everything after its own.
struct Builder<'a> {
    context: &'a Context<'a>,
    settings: TableSettings,
    range_deletes: RangeDeletes,
    /// Where tables end; its cuts are those that are not passed yet.
    ends: Ends<'a>,
    open: Option<TableWriter>,
    /// The first key of the open table; `None` for the first table, whose part has no lower bound.
    from: Option<Box<[u8]>>,
    /// About the bytes of the open table at the last estimate; 0 if there is none.
    estimated_bytes: u64,
    /// The bytes of keys and values since the last estimate, and after how many the next one is due.
    since_estimate: u64,
    estimate_after: u64,
    /// The bytes of the values that entries of the open table point to.
    values_apart: u64,
    /// The bytes of the open table that may be written.
    paced: u64,
    made: Vec<TableMeta>,
    /// File numbers of all tables that were begun.
    begun: Vec<u64>,
    values: Values<'a>,
    /// Whether all values of puts stay beside their keys, and are not counted.
    stays: bool,
    /// Puts that are written together, and whether any may be: nothing but their size may decide what is done with them.
    batch: Batch,
    batches: bool,
    /// Entries from one on whose value has to be read.
    waiting: Waiting,
    /// What the keys may hide, and how many of the open table do.
    older: Below<'a>,
    hides: f64,
    /// Whether values beside their keys count among those.
    hides_all: bool,
}

impl<'a> Builder<'a> {
    fn new(
        context: &'a Context<'a>,
        map: NumberedMap,
        range_deletes: RangeDeletes,
        ends: Ends<'a>,
    ) -> Self {
        let hides_all = context.tier.is_some_and(TierSpec::is_inline);
        let stays = context.table.separate_values.is_none() && !hides_all;
        Builder {
            context,
            settings: context.table_settings(map),
            range_deletes,
            ends,
            open: None,
            from: None,
            estimated_bytes: 0,
            since_estimate: 0,
            estimate_after: (ends.table_bytes / ESTIMATES_A_TABLE).min(PACE / 4),
            values_apart: 0,
            paced: 0,
            made: Vec::new(),
            begun: Vec::new(),
            values: Values::new(context),
            stays,
            batch: Batch::default(),
            batches: stays && ends.cuts.is_empty(),
            waiting: Waiting::default(),
            older: Below::runs(context.older.to_vec()),
            hides: 0.0,
            hides_all,
        }
    }

    /// Adds an entry that the batch does not take behind the others, once the values before it are read.
    #[inline(never)]
    fn take_alone(&mut self, entry: &Survivor<'_>) -> Result<()> {
        if !self.batch.is_empty() {
            self.add_batch()?;
        }
        if self.stays && entry.kind == EntryKind::Put && self.waiting.is_empty() {
            return self.add_put(entry);
        }
        let to_move = self.values.to_move(entry);
        if to_move.is_none() && self.waiting.is_empty() {
            return self.add(entry, None);
        }
        self.waiting.push(entry, to_move);
        match self.waiting.is_full() {
            true => self.add_waiting(),
            false => Ok(()),
        }
    }

    /// Reads the values that the waiting entries need, and adds these.
    fn add_waiting(&mut self) -> Result<()> {
        let mut waiting = mem::take(&mut self.waiting);
        let mut values = self.values.read(&waiting)?.into_iter();
        for (entry, to_move) in waiting.entries() {
            let moved = to_move.and_then(|_| values.next());
            self.add(&entry, moved.as_deref())?;
        }
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    /// Adds a put whose value stays beside its key.
    fn add_put(&mut self, put: &Survivor<'_>) -> Result<()> {
        if put.new_key {
            self.end_before(put.key)?;
        }
        self.write(put, EntryKind::Put, put.value)
    }

    /// Adds an entry, with the value that has to be moved with it.
    fn add(&mut self, entry: &Survivor<'_>, moved: Option<&[u8]>) -> Result<()> {
        if entry.new_key {
            self.end_before(entry.key)?;
        }
        match self.values.place(entry, moved)? {
            Placed::AsItIs => {
                match entry.kind {
                    EntryKind::Put if self.hides_all => self.note_apart(entry, None),
                    EntryKind::Put => {}
                    EntryKind::Delete => self.note_apart(entry, None),
                    EntryKind::Pointer => {
                        self.note_apart(entry, Pointer::from_bytes(entry.value));
                    }
                }
                self.write(entry, entry.kind, entry.value)
            }
            Placed::Apart(pointer) => {
                self.note_apart(entry, Some(pointer));
                self.write(entry, EntryKind::Pointer, &pointer.to_bytes())
            }
            Placed::Beside => self.write(entry, EntryKind::Put, moved.unwrap_or_default()),
        }
    }

    /// Writes an entry into the open table, as this kind and with this value.
    #[inline]
    fn write(&mut self, entry: &Survivor<'_>, kind: EntryKind, value: &[u8]) -> Result<()> {
        let (key, sequence) = (entry.key, entry.sequence);
        self.writer()?.add(key, sequence, kind, value)?;
        self.count_bytes((key.len() + value.len()) as u64);
        Ok(())
    }

    /// Counts bytes of keys and values that were added, and estimates the size of the table now and then.
    #[inline]
    fn count_bytes(&mut self, bytes: u64) {
        self.since_estimate += bytes;
        if self.since_estimate < self.estimate_after {
            return;
        }
        self.since_estimate = 0;
        if let Some(open) = &mut self.open {
            self.estimated_bytes = open.estimated_bytes();
        }
        if self.estimated_bytes >= self.paced + PACE {
            self.pace();
        }
    }

    /// Whether the open table has to end before the next entry of a new key.
    #[inline]
    fn is_full(&self) -> bool {
        // Most tables point to no values, and a division takes as long as much of what is done for an entry.
        let apart = match self.values_apart {
            0 => 0,
            bytes => bytes / self.ends.values_a_byte,
        };
        self.estimated_bytes.saturating_add(apart) >= self.ends.table_bytes
    }

    /// Ends the open table before an entry of a new key, if it is full, or is to be cut before that key.
    #[inline(always)]
    fn end_before(&mut self, key: &[u8]) -> Result<()> {
        if !self.ends.cuts.is_empty() {
            self.pass_cuts(|cut| cut <= key)?;
        }
        match self.is_full() {
            true => self.end_at(key),
            false => Ok(()),
        }
    }

    /// Ends tables at the next cuts that are passed. A table may hold range deletes alone.
    fn pass_cuts(&mut self, is_passed: impl Fn(&[u8]) -> bool) -> Result<()> {
        while let Some((cut, later)) = self.ends.cuts.split_first()
            && is_passed(cut)
        {
            self.ends.cuts = later;
            self.open_for_range_deletes(Some(cut))?;
            self.end_at(cut)?;
        }
        Ok(())
    }

    /// Opens a table, if there is none, for range deletes between what was written and a key.
    fn open_for_range_deletes(&mut self, to: Option<&[u8]>) -> Result<()> {
        if self.open.is_none() && !self.range_deletes.is_empty() {
            let ranges = self.range_deletes.truncate(self.from.as_deref(), to);
            if !ranges.is_empty() {
                self.writer()?;
            }
        }
        Ok(())
    }

    /// Ends the open table, if there is one, before the table that begins at a key.
    fn end_at(&mut self, key: &[u8]) -> Result<()> {
        if self.open.is_some() {
            self.close(Some(key))?;
            self.from = Some(key.into());
        }
        Ok(())
    }

    /// Counts an entry whose value lies apart, or which hides one that may.
    fn note_apart(&mut self, entry: &Survivor<'_>, pointer: Option<Pointer>) {
        self.values_apart += pointer.map_or(0, |pointer| u64::from(pointer.len));
        if entry.new_key {
            self.hides += self.older.hidden_values(entry.key, self.hides_all);
        }
    }

    /// Ends the last table. The tables are then synced, but the directory is not.
    fn finish(&mut self) -> Result<()> {
        self.add_batch()?;
        self.add_waiting()?;
        if !self.range_deletes.is_empty() {
            self.pass_cuts(|_| true)?;
        }
        self.open_for_range_deletes(None)?;
        self.close(None)
    }

    fn into_written(mut self) -> Written {
        Written {
            tables: self.made,
            value_files: self.values.take_ended(),
        }
    }

    /// Removes what was written, as far as possible; the next opening removes the rest.
    fn abandon(self) {
        drop(self.open);
        let files = self.context.files;
        for table in &self.made {
            files.cache.forget_written(table.table_id);
        }
        for number in self.begun {
            files.delete(FileKind::Table, number);
        }
        self.values.abandon();
    }

    #[inline]
    fn writer(&mut self) -> Result<&mut TableWriter> {
        // It is large, so it must not move for every entry.
        match &mut self.open {
            Some(open) => Ok(open),
            none => Ok(none.insert(begin(self.context, &mut self.settings, &mut self.begun)?)),
        }
    }

    /// Waits until the open table may be written up to here.
    fn pace(&mut self) {
        (self.context.pace)(self.estimated_bytes.saturating_sub(self.paced));
        self.paced = self.estimated_bytes;
    }

    /// Ends the open table, if there is one; `to` is the first key of the next table.
    fn close(&mut self, to: Option<&[u8]>) -> Result<()> {
        let Some(mut writer) = self.open.take() else {
            return Ok(());
        };
        self.estimated_bytes = writer.estimated_bytes();
        self.pace();
        (self.estimated_bytes, self.since_estimate, self.paced) = (0, 0, 0);
        self.values_apart = 0;
        self.values.close()?;
        writer.set_value_files(|file| self.values.meta_of(file))?;
        writer.hides = mem::take(&mut self.hides).round() as u64;
        let range_deletes = self.range_deletes.truncate(self.from.as_deref(), to);
        let written = writer.finish(&range_deletes)?;
        let counters = self.context.counters;
        Counters::add_time(&counters.training_nanos, written.training);
        Counters::add_time(&counters.write_nanos, written.write_time);
        self.made.push(written.summary);
        Ok(())
    }
}
