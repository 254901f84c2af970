//! Collection: what is live is moved, and the files that it was in are removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::generation::Generation;
use super::segment::{self, Pointer, Segment};
use super::{Cursor, LEAST_GARBAGE, Shared, Writer, lock};
use crate::data::Pairs;
use crate::error::Result;

/// Bytes of records that are read, sorted by their place, before they are written in the order of their keys.
const WINDOW_BYTES: u64 = 16 << 20;

/// Records whose pointers are changed while writers wait.
const CHANGED_AT_ONCE: usize = 128;

/// What a collection of files frees beyond what it must, as a share of what is live.
const BEYOND: u64 = 20;

/// Records in the order of their keys, with the pointers of their old places.
#[derive(Default)]
struct Window {
    keys: Pairs,
    pointers: Vec<Pointer>,
    bytes: u64,
}

impl Window {
    fn push(&mut self, key: &[u8], pointer: Pointer) {
        self.keys.push(key, b"");
        self.pointers.push(pointer);
        self.bytes += u64::from(pointer.length);
    }

    /// Reads the values, in the order of their places.
    fn read(&self, generation: &Generation) -> Result<Vec<Vec<u8>>> {
        let mut by_place: Vec<usize> = (0..self.pointers.len()).collect();
        by_place.sort_unstable_by_key(|at| self.pointers[*at]);
        let mut values = vec![Vec::new(); by_place.len()];
        let mut record = Vec::new();
        for at in by_place {
            let pointer = self.pointers[at];
            let segment = generation.segments.get(&pointer.file);
            let segment = segment.ok_or_else(|| generation.no_file(pointer))?;
            let place = segment.value(pointer, self.keys.keys.get(at), &mut record)?;
            values[at] = record.get(place).unwrap_or_default().to_vec();
        }
        Ok(values)
    }
}

/// Calls `with` with what points into some files, in the order of the keys.
fn for_windows(
    generation: &Generation,
    wanted: impl Fn(u32) -> bool,
    with: &mut dyn FnMut(&Window) -> Result<()>,
) -> Result<()> {
    generation
        .index()
        .with_cursor(&mut |cursor: &mut dyn Cursor| {
            let mut window = Window::default();
            let mut more = cursor.seek(b"")?;
            while more {
                let (key, pointer) = cursor.pair();
                let pointer = Pointer::of_bytes(pointer, &generation.directory)?;
                if wanted(pointer.file) {
                    window.push(key, pointer);
                }
                if window.bytes >= WINDOW_BYTES {
                    with(&window)?;
                    window = Window::default();
                }
                more = cursor.advance()?;
            }
            with(&window)
        })
}

/// Appends the records from `from` on, up to a number of them, to a file. Returns their new pointers.
fn append(
    window: &Window,
    values: &[Vec<u8>],
    from: usize,
    count: usize,
    to: &Segment,
    sync: bool,
) -> Result<Pairs> {
    let (mut records, mut pointers) = (Vec::new(), Pairs::default());
    let base = to.length();
    for (at, value) in values.iter().enumerate().skip(from).take(count) {
        let key = window.keys.keys.get(at);
        let offset = base + records.len() as u64;
        let length = segment::encode(key, value, &mut records)?;
        let file = to.number;
        let pointer = Pointer {
            file,
            offset,
            length,
        };
        pointers.push(key, &pointer.to_bytes());
    }
    to.append(&records, sync)?;
    Ok(pointers)
}

impl Shared {
    /// Looks up what is live, and writes all of it to a new log with a new index if the log is too large for
    /// it. The caller holds the lock of writers, so that all of them wait.
    pub(super) fn collect_whole_if_due(&self, writer: &mut Writer) -> Result<()> {
        writer.limit = self.plan.limit(self.view().live()?.values().sum());
        match writer.log_bytes <= writer.limit {
            true => Ok(()),
            false => self.collect_whole(writer),
        }
    }

    /// Writes all that is live to a new log in the order of keys, with a new index. The caller holds the lock of
    /// writers.
    pub(super) fn collect_whole(&self, writer: &mut Writer) -> Result<()> {
        let began = Instant::now();
        let old = self.view();
        let mut new = Generation::open(&self.directory, old.number + 1, &self.make)?;
        let to = new.begin_segment(self.plan.access)?;
        for_windows(&old, |_| true, &mut |window| {
            let values = window.read(&old)?;
            let pointers = append(window, &values, 0, values.len(), &to, self.plan.sync)?;
            new.index().load(&pointers)
        })?;
        new.publish(&self.directory)?;
        writer.log_bytes = to.length();
        writer.limit = self.plan.limit(to.length());
        writer.count(to.length(), began);
        writer.active = to;
        old.leave();
        drop(self.show(new));
        Ok(())
    }

    /// The work of the collecting thread.
    pub(super) fn collect_when_due(&self) {
        loop {
            let mut work = lock(&self.work);
            work.busy = false;
            self.changed.notify_all();
            while !work.due && !work.stop {
                work = self
                    .changed
                    .wait(work)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if work.stop {
                work.due = false;
                self.changed.notify_all();
                return;
            }
            (work.due, work.busy) = (false, true);
            drop(work);
            if let Err(error) = self.collect_files_if_due() {
                lock(&self.work).failed = Some(error);
            }
        }
    }

    /// Looks up what is live in each file, and empties those with the most garbage if the log is too large.
    fn collect_files_if_due(&self) -> Result<()> {
        let began = Instant::now();
        let (view, active, log_bytes) = {
            let writer = lock(&self.writer);
            (self.view(), writer.active.number, writer.log_bytes)
        };
        let by_file = view.live_now()?;
        let live = by_file.values().sum();
        let limit = self.plan.limit(live);
        lock(&self.writer).limit = limit;
        if log_bytes <= limit {
            return Ok(());
        }
        let victims = victims(&view, active, &by_file, log_bytes - limit + live / BEYOND);
        let mut moved = 0;
        let mut to: Option<Arc<Segment>> = None;
        for_windows(&view, |file| victims.contains(&file), &mut |window| {
            let values = window.read(&view)?;
            for from in (0..values.len()).step_by(CHANGED_AT_ONCE) {
                let segment = match to.take() {
                    Some(segment) if segment.length() < self.plan.segment_bytes => segment,
                    _ => self.begin_segment()?,
                };
                let before = segment.length();
                let new = append(
                    window,
                    &values,
                    from,
                    CHANGED_AT_ONCE,
                    &segment,
                    self.plan.sync,
                )?;
                moved += segment.length() - before;
                self.repoint(window, from, &new, segment.length() - before)?;
                to = Some(segment);
            }
            Ok(())
        })?;
        let mut writer = lock(&self.writer);
        let removed = self.remove(&victims)?;
        writer.log_bytes = writer.log_bytes.saturating_sub(removed);
        // Where all garbage is in the file that is written, there is nothing to do until there is more.
        writer.limit = limit.max(writer.log_bytes + LEAST_GARBAGE);
        writer.count(moved, began);
        Ok(())
    }

    /// A new file in the view.
    fn begin_segment(&self) -> Result<Arc<Segment>> {
        let _writer = lock(&self.writer);
        let mut next = self.view().with_same_index();
        let segment = next.begin_segment(self.plan.access)?;
        drop(self.show(next));
        Ok(segment)
    }

    /// Writes the new pointers of those records that nobody has overwritten or deleted since they were read.
    fn repoint(&self, window: &Window, from: usize, new: &Pairs, bytes: u64) -> Result<()> {
        let mut writer = lock(&self.writer);
        writer.log_bytes += bytes;
        let view = self.view();
        let (mut still, mut present) = (Pairs::default(), Vec::new());
        for ((key, pointer), old) in new.iter().zip(window.pointers.iter().skip(from)) {
            if view.index().get(key, &mut present)? && present == old.to_bytes() {
                still.push(key, pointer);
            }
        }
        view.index().write(&still)
    }

    /// Removes files that nothing points into any more. Returns their bytes. The caller holds the lock of
    /// writers.
    fn remove(&self, victims: &BTreeSet<u32>) -> Result<u64> {
        let mut next = self.view().with_same_index();
        let gone: Vec<Arc<Segment>> = victims
            .iter()
            .filter_map(|file| next.segments.remove(file))
            .collect();
        drop(self.show(next));
        let mut bytes = 0;
        for segment in gone {
            bytes += segment.length();
            segment.remove()?;
        }
        Ok(bytes)
    }
}

impl Writer {
    fn count(&mut self, moved: u64, began: Instant) {
        self.counts.collections += 1;
        self.counts.moved_bytes += moved;
        self.counts.nanoseconds += began.elapsed().as_nanos() as u64;
    }
}

/// The files with the largest shares of garbage that have at least so much of it together.
fn victims(
    view: &Generation,
    active: u32,
    live: &BTreeMap<u32, u64>,
    wanted: u64,
) -> BTreeSet<u32> {
    let sealed = view.segments.values().filter(|s| s.number != active);
    let mut files: Vec<(u64, u64, u32)> = sealed
        .map(|segment| {
            let bytes = segment.length();
            let live = live.get(&segment.number).copied().unwrap_or_default();
            let garbage = bytes.saturating_sub(live);
            // In parts of a million, so that they can be sorted.
            let share = u128::from(garbage) * 1_000_000 / u128::from(bytes.max(1));
            (share as u64, garbage, segment.number)
        })
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    let mut freed = 0;
    files
        .into_iter()
        .take_while(|(share, garbage, _)| {
            let more = freed < wanted && *share > 0;
            freed += garbage;
            more
        })
        .map(|(.., number)| number)
        .collect()
}
