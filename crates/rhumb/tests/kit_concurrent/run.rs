//! Runs the threads of one store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rhumb::fs::FileSystem;
use rhumb::{DEFAULT_KEYSPACE, Db, Durability, Error};

use super::KEYSPACES;
use super::history::{ACTORS, Clock, History, WRITERS, within};
use super::load::{Load, Operation, key, marked, marker_key};
use crate::kit::access::{ingest_changes, write};
use crate::kit::oracle::Oracle;
use crate::kit::recorder::held;

/// Why a thread ended early.
#[derive(Debug)]
pub enum Halt {
    /// The store takes no more calls, as it should.
    Stopped,
    /// The store did what it must never do.
    Wrong(String),
}

impl From<String> for Halt {
    fn from(wrong: String) -> Self {
        Halt::Wrong(wrong)
    }
}

/// What a test makes of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The call is repeated.
    Again,
    /// The thread ends.
    Stop,
    /// It should not be.
    Wrong,
}

/// Tells what to do about an error, given how often the call has been repeated.
pub type OnError<'a> = &'a (dyn Fn(&Error, usize) -> Answer + Sync);

/// A store that several threads use.
pub struct Run<'a> {
    pub db: &'a Db,
    pub load: Load,
    pub history: &'a History,
    on_error: OnError<'a>,
    writing: AtomicUsize,
    /// Whether the store has told anybody that it takes no more writes.
    refused: AtomicBool,
    wrong: Mutex<Option<String>>,
    /// How many times everything was read and compared.
    pub reads: AtomicUsize,
}

impl<'a> Run<'a> {
    pub fn new(db: &'a Db, load: Load, history: &'a History, on_error: OnError<'a>) -> Self {
        Run {
            db,
            load,
            history,
            on_error,
            writing: AtomicUsize::new(WRITERS),
            refused: AtomicBool::new(false),
            wrong: Mutex::new(None),
            reads: AtomicUsize::new(0),
        }
    }

    /// Runs all writers, the keeper and some readers to their ends. `beside` runs meanwhile, on this
    /// thread.
    ///
    /// # Errors
    /// What a thread found wrong.
    pub fn all(
        &self,
        file_system: &dyn FileSystem,
        readers: u64,
        beside: impl FnOnce(&Self),
    ) -> Result<(), String> {
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    let _done = Done(&self.writing);
                    self.note(self.write(writer));
                });
            }
            for reader in 0..readers {
                scope.spawn(move || self.note(self.read(reader)));
            }
            scope.spawn(|| self.note(self.keep(file_system)));
            beside(self);
        });
        held(&self.wrong).take().map_or(Ok(()), Err)
    }

    fn note(&self, result: Result<(), Halt>) {
        if let Err(Halt::Wrong(what)) = result {
            held(&self.wrong).get_or_insert(what);
        }
    }

    /// Whether some writer goes on.
    pub fn writing(&self) -> bool {
        self.writing.load(Ordering::SeqCst) > 0 && held(&self.wrong).is_none()
    }

    /// Calls the store until it succeeds, or the test says that it need not; `make` receives the number of
    /// failures.
    pub fn attempt<T>(&self, make: impl Fn(usize) -> rhumb::Result<T>) -> Result<T, Halt> {
        for tried in 0.. {
            let error = match make(tried) {
                Ok(done) => return Ok(done),
                Err(e) => e,
            };
            if matches!(error, Error::ReadOnly { .. }) {
                self.refused.store(true, Ordering::SeqCst);
            }
            match (self.on_error)(&error, tried) {
                Answer::Again => std::thread::sleep(Duration::from_millis(1)),
                Answer::Stop => return Err(Halt::Stopped),
                Answer::Wrong => return Err(format!("after {tried} more: {error}").into()),
            }
        }
        Err(Halt::Stopped)
    }

    pub fn refused(&self) -> bool {
        self.refused.load(Ordering::SeqCst)
    }

    /// Notes that an operation returned, which began when the store had refused writes or not.
    pub fn acknowledge(
        &self,
        actor: usize,
        durability: Durability,
        refused: bool,
    ) -> Result<(), Halt> {
        if refused {
            let wrong = "a write was acknowledged after the store had become read-only";
            return Err(wrong.to_string().into());
        }
        let durable = durability == Durability::Immediate;
        self.history.acknowledge(actor, durable);
        Ok(())
    }

    fn write(&self, writer: usize) -> Result<(), Halt> {
        let mut own = Oracle::new();
        let mut random = self.load.random(writer, 0);
        while own.len() < self.load.operations && held(&self.wrong).is_none() {
            let seen = match random.percent(30) {
                true => self.markers()?,
                false => [0; ACTORS],
            };
            let refused = self.refused();
            let number = self.history.begin(writer, seen);
            let operation = self.load.operation(writer, number);
            self.attempt(|tried| self.operate(&operation, writer, tried))?;
            self.acknowledge(writer, operation.durability, refused)?;
            own.push(operation.event());
            if random.percent(20) {
                let which = random.below(2) as usize;
                let key = key(which, writer, random.below(self.load.keys));
                self.read_own(KEYSPACES[which], &key, &own)?;
            }
        }
        Ok(())
    }

    fn operate(&self, operation: &Operation, writer: usize, tried: usize) -> rhumb::Result<()> {
        if operation.ingest {
            return ingest_changes(self.db, &operation.changes);
        }
        let Some(before) = &operation.swap else {
            return write(self.db, &operation.changes, operation.durability);
        };
        let marker = marker_key(writer);
        let Some((_, crate::kit::oracle::Change::Put(_, new))) = operation.changes.first() else {
            return Ok(());
        };
        let swapped = self
            .db
            .compare_and_swap(marker, before.as_deref(), Some(new))?;
        match swapped {
            Ok(()) => Ok(()),
            // What failed may have been written all the same.
            Err(other) if tried > 0 && other.current.as_ref() == Some(new) => Ok(()),
            Err(other) => {
                let found = marked(other.current.as_deref());
                let what =
                    format!("a swap found the marker of operation {found} of writer {writer}");
                Err(Error::InvalidArgument(what))
            }
        }
    }

    /// A writer sees its own writes, and nobody else changes its keys.
    fn read_own(&self, name: &str, key: &[u8], own: &Oracle) -> Result<(), Halt> {
        let found = self.attempt(|_| {
            let keyspace = self.db.keyspace(name)?;
            Ok(keyspace.get(key)?.map(|value| value.to_vec()))
        })?;
        let expected = own.content.get(name).and_then(|keys| keys.get(key));
        if found.as_ref() == expected {
            return Ok(());
        }
        let (key, count) = (key.escape_ascii(), own.len());
        Err(format!("{name}/{key} is not what its writer left after {count} operations").into())
    }

    /// How many operations of each writer a snapshot shows: all that were acknowledged, at least.
    fn markers(&self) -> Result<Clock, Halt> {
        let acknowledged = self.history.acknowledged();
        let snapshot = self.db.snapshot();
        let mut seen = acknowledged;
        for (writer, seen) in seen.iter_mut().enumerate().take(WRITERS) {
            let marker = self.attempt(|_| {
                let keyspace = self.db.keyspace(DEFAULT_KEYSPACE)?;
                let marker = snapshot.get(&keyspace, marker_key(writer))?;
                Ok(marked(marker.as_deref()))
            });
            *seen = marker?;
        }
        match within(acknowledged, seen) {
            true => Ok(seen),
            false => Err(format!("{acknowledged:?} were acknowledged, {seen:?} seen").into()),
        }
    }
}

/// Counts a writer out, also if it panics.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
