//! A value log over an index: a store that appends keys with their values to files, and keeps the place of
//! each value in an index, which is another store. RocksDB+, the baseline of *LearnedKV*, is this over RocksDB.
//!
//! ```text
//! CURRENT      the number of the generation, in decimal digits
//! 1            the directory of a generation
//!   index      the index, as its own store keeps it
//!   000001.values ...
//! ```

mod collect;
mod generation;
mod segment;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use ::rhumb::fs::Access;

use self::generation::Generation;
use self::segment::{Pointer, Segment};
use super::{Counters, Cursor, Footprint, Store};
use crate::data::Pairs;
use crate::error::{Error, Result};

/// How garbage is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// As published: a put that finds the log too large reads all live values, writes them to a new log in
    /// the order of their keys, and makes a new index.
    Whole,
    /// The log is cut into files. A thread of its own moves what is live in those with the most garbage.
    Files,
}

/// The settings of a value log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How garbage is collected.
    pub collection: Collection,
    /// How much larger than what is live the log may become, in percent.
    pub over_provision_percent: u32,
    /// With [`Collection::Files`], the bytes from which on another file is begun.
    pub segment_bytes: u64,
    /// Whether each write is durable before it returns.
    pub sync: bool,
    /// How values are read.
    pub access: Access,
}

/// Opens or creates an index in a directory that exists.
pub type MakeIndex = Box<dyn Fn(&Path) -> Result<Box<dyn Store>> + Send + Sync>;

/// Garbage below this never makes a collection due.
const LEAST_GARBAGE: u64 = 64 << 10;

/// An open value log.
pub struct ValueLog {
    shared: Arc<Shared>,
    collector: Option<JoinHandle<()>>,
}

/// What writers, readers and the collector share.
struct Shared {
    directory: PathBuf,
    plan: Plan,
    make: MakeIndex,
    /// What reads see. It is replaced as a whole.
    view: RwLock<Arc<Generation>>,
    /// Held for each change of the log, of the index, and of the view.
    writer: Mutex<Writer>,
    work: Mutex<Work>,
    /// Told of each change of `work`.
    changed: Condvar,
}

/// The end of the log.
struct Writer {
    active: Arc<Segment>,
    /// Bytes of all files.
    log_bytes: u64,
    /// The bytes from which on it is looked up how much of them is live.
    limit: u64,
    counts: Counts,
}

/// What collections have done.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    collections: u64,
    moved_bytes: u64,
    nanoseconds: u64,
}

/// What the collecting thread is to do.
#[derive(Default)]
struct Work {
    due: bool,
    busy: bool,
    stop: bool,
    failed: Option<Error>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ValueLog {
    /// Opens or creates a value log in a directory that exists. Opening reads the whole index, and finds that
    /// each pointer leads into a file.
    ///
    /// # Errors
    /// Any error of the index; files that are not as the index says.
    pub fn open(directory: &Path, plan: Plan, make: MakeIndex) -> Result<ValueLog> {
        let mut generation = Generation::open_current(directory, &make, plan.access)?;
        let active = generation.begin_segment(plan.access)?;
        let log_bytes = generation.segments.values().map(|s| s.length()).sum();
        let live = generation.live()?.values().sum();
        let shared = Arc::new(Shared {
            directory: directory.to_path_buf(),
            plan,
            make,
            view: RwLock::new(Arc::new(generation)),
            writer: Mutex::new(Writer {
                active,
                log_bytes,
                limit: plan.limit(live),
                counts: Counts::default(),
            }),
            work: Mutex::default(),
            changed: Condvar::new(),
        });
        let collector = (plan.collection == Collection::Files).then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.collect_when_due())
        });
        Ok(ValueLog { shared, collector })
    }

    fn stop(&mut self) {
        lock(&self.shared.work).stop = true;
        self.shared.changed.notify_all();
        if let Some(collector) = self.collector.take() {
            // A panic of the thread was printed.
            let _ = collector.join();
        }
    }
}

impl Plan {
    /// The bytes of the log from which on a collection is due, given those that are live.
    fn limit(&self, live: u64) -> u64 {
        let over = u128::from(live) * u128::from(self.over_provision_percent) / 100;
        live.saturating_add((over as u64).max(LEAST_GARBAGE))
    }
}

impl Shared {
    fn view(&self) -> Arc<Generation> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    /// Replaces the view. The caller holds the lock of writers.
    fn show(&self, generation: Generation) -> Arc<Generation> {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *view, Arc::new(generation))
    }

    /// Writes records and then their pointers.
    fn write(&self, batch: &Pairs) -> Result<()> {
        self.take_failure()?;
        let mut writer = lock(&self.writer);
        let view = self.view();
        let (mut records, mut pointers) = (Vec::new(), Pairs::default());
        let base = writer.active.length();
        for (key, value) in batch.iter() {
            let offset = base + records.len() as u64;
            let length = segment::encode(key, value, &mut records)?;
            let file = writer.active.number;
            let pointer = Pointer {
                file,
                offset,
                length,
            };
            pointers.push(key, &pointer.to_bytes());
        }
        writer.active.append(&records, self.plan.sync)?;
        writer.log_bytes += records.len() as u64;
        view.index().write(&pointers)?;
        if self.plan.collection == Collection::Files
            && writer.active.length() >= self.plan.segment_bytes
        {
            let mut next = view.with_same_index();
            writer.active = next.begin_segment(self.plan.access)?;
            drop(self.show(next));
        }
        if writer.log_bytes <= writer.limit {
            return Ok(());
        }
        match self.plan.collection {
            Collection::Whole => self.collect_whole_if_due(&mut writer),
            Collection::Files => {
                lock(&self.work).due = true;
                self.changed.notify_all();
                Ok(())
            }
        }
    }

    /// The error that ended the collecting thread, once.
    fn take_failure(&self) -> Result<()> {
        lock(&self.work).failed.take().map_or(Ok(()), Err)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        loop {
            let view = self.view();
            if !view.index().get(key, into)? {
                return Ok(false);
            }
            let pointer = Pointer::of_bytes(into, &self.directory)?;
            if let Some(segment) = view.segments.get(&pointer.file) {
                let value = segment.value(pointer, key, into)?;
                into.drain(..value.start);
                return Ok(true);
            }
            // Files come and go while the index is read; only a view that is still in use must have it.
            if Arc::ptr_eq(&view, &self.view()) {
                return Err(view.no_file(pointer));
            }
        }
    }

    /// Waits until no collection is due.
    fn wait(&self) -> Result<()> {
        let mut work = lock(&self.work);
        while work.due || work.busy {
            work = self
                .changed
                .wait(work)
                .unwrap_or_else(PoisonError::into_inner);
        }
        work.failed.take().map_or(Ok(()), Err)
    }
}

impl Store for ValueLog {
    fn write(&self, batch: &Pairs) -> Result<()> {
        self.shared.write(batch)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let _writer = lock(&self.shared.writer);
        self.shared.view().index().delete(key)
    }

    fn flush(&self) -> Result<()> {
        self.shared.wait()?;
        self.shared.view().index().flush()
    }

    fn settle(&self) -> Result<()> {
        self.shared.wait()?;
        if self.shared.plan.collection == Collection::Whole {
            self.shared.collect_whole(&mut lock(&self.shared.writer))?;
        }
        self.shared.view().index().settle()
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        self.shared.get(key, into)
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        // No file may come or go until the cursor of the index is made.
        let mut writer = Some(lock(&self.shared.writer));
        let view = self.shared.view();
        view.index().with_cursor(&mut |pointers| {
            drop(writer.take());
            with(&mut Forward {
                view: &view,
                pointers,
                record: Vec::new(),
                value: 0,
            })
        })
    }

    fn cool(&self) -> Result<()> {
        self.shared.view().index().cool()
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        self.shared.view().index().footprint()
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = self.shared.view().index().counters()?;
        let counts = lock(&self.shared.writer).counts;
        counters.put("collections", counts.collections, "collections");
        counters.put("collected_bytes", counts.moved_bytes, "B");
        counters.put("collection_time", counts.nanoseconds, "ns");
        Ok(counters)
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.stop();
        let failure = self.shared.take_failure();
        let shared = Arc::clone(&self.shared);
        drop(self);
        // No cursor is left, and the collecting thread has ended.
        let view = Arc::into_inner(shared).map(|shared| shared.view.into_inner());
        let view = view.map(|view| view.unwrap_or_else(PoisonError::into_inner));
        let closed = match view.and_then(Arc::into_inner) {
            Some(generation) => generation.close(),
            None => Ok(()),
        };
        failure.and(closed)
    }
}

impl Drop for ValueLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A cursor that moves forwards, and reads each value by itself.
struct Forward<'a> {
    view: &'a Generation,
    pointers: &'a mut dyn Cursor,
    record: Vec<u8>,
    /// Where the value begins in the record.
    value: usize,
}

impl Forward<'_> {
    fn resolve(&mut self, is_there: bool) -> Result<bool> {
        if is_there {
            let (key, pointer) = self.pointers.pair();
            let pointer = Pointer::of_bytes(pointer, &self.view.directory)?;
            let segment = self.view.segments.get(&pointer.file);
            let segment = segment.ok_or_else(|| self.view.no_file(pointer))?;
            self.value = segment.value(pointer, key, &mut self.record)?.start;
        }
        Ok(is_there)
    }
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let is_there = self.pointers.seek(key)?;
        self.resolve(is_there)
    }

    fn advance(&mut self) -> Result<bool> {
        let is_there = self.pointers.advance()?;
        self.resolve(is_there)
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        let (key, _) = self.pointers.pair();
        (key, self.record.get(self.value..).unwrap_or_default())
    }
}
