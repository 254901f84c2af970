//! The versions that a read of one record may find while several threads write the record.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// The state of one record in a word. Version 0 is the inserted value; every update issues the next
/// version.
///
/// ```text
/// bit 63   the record was inserted, and the store has confirmed it
/// 56..63   updates under way
/// 28..56   floor: no read that begins now may find an older version
/// 0..28    the newest version issued
/// ```
///
/// Only the store knows which of two concurrent updates came last. Therefore the floor rises only
/// at the end of an update that began when no other update of the record was under way: all older
/// updates had ended then. With one thread this holds for every update, and the floor equals the
/// newest version whenever a read begins.
#[derive(Debug, Default)]
pub struct Record(AtomicU64);

const VERSION_BITS: u32 = 28;
/// The largest possible version.
const NEWEST: u64 = (1 << VERSION_BITS) - 1;
const WRITER: u64 = 1 << 56;
const WRITERS: u64 = 0x7f << 56;
const PRESENT: u64 = 1 << 63;

/// The maximum number of threads that may update a record at once.
pub const MOST_THREADS: usize = 0x7f;

/// An update under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The version that the update writes.
    pub version: u32,
    alone: bool,
}

impl Record {
    /// A record that is in the store from the beginning.
    pub fn present() -> Record {
        Record(AtomicU64::new(PRESENT))
    }

    /// Whether the store has confirmed the insert of the record.
    pub fn is_present(&self) -> bool {
        self.0.load(Ordering::Acquire) & PRESENT != 0
    }

    /// Records that the store has confirmed the insert.
    pub fn set_present(&self) {
        self.0.fetch_or(PRESENT, Ordering::AcqRel);
    }

    /// The oldest version that a read may find if it begins now.
    pub fn floor(&self) -> u32 {
        (self.0.load(Ordering::Acquire) >> VERSION_BITS & NEWEST) as u32
    }

    /// The newest version that a read may have found if it has ended.
    pub fn newest(&self) -> u32 {
        (self.0.load(Ordering::Acquire) & NEWEST) as u32
    }

    /// Issues the next version, before it is written.
    ///
    /// # Errors
    /// If the record has the largest possible version.
    pub fn begin(&self) -> Result<Update> {
        let issue = |word: u64| (word & NEWEST < NEWEST).then_some(word + 1 + WRITER);
        match self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, issue)
        {
            Ok(word) => Ok(Update {
                version: (word & NEWEST) as u32 + 1,
                alone: word & WRITERS == 0,
            }),
            Err(_) => Err(Error::Usage(format!(
                "a record was updated {NEWEST} times, the largest possible number: run fewer operations"
            ))),
        }
    }

    /// Records that the store has confirmed an update.
    pub fn end(&self, update: Update) {
        let finish = |word: u64| {
            let floor = word >> VERSION_BITS & NEWEST;
            let raised = if update.alone {
                floor.max(u64::from(update.version))
            } else {
                floor
            };
            Some((word & !(NEWEST << VERSION_BITS) | raised << VERSION_BITS) - WRITER)
        };
        // Never fails, since the closure always returns a word.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, finish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_leaves_only_the_newest_version() {
        let record = Record::present();
        assert!(record.is_present());
        for version in 1..=1_000 {
            let update = record.begin().unwrap();
            assert_eq!((update.version, record.floor()), (version, version - 1));
            record.end(update);
            assert_eq!((record.floor(), record.newest()), (version, version));
        }
        assert!(record.is_present());
    }

    #[test]
    fn after_concurrent_updates_a_read_may_find_either_version() {
        let record = Record::default();
        assert!(!record.is_present());
        let first = record.begin().unwrap();
        let second = record.begin().unwrap();
        record.end(second);
        assert_eq!((record.floor(), record.newest()), (0, 2));
        // No other update was under way when the first one began, so versions before it are gone.
        record.end(first);
        assert_eq!((record.floor(), record.newest()), (1, 2));
        let third = record.begin().unwrap();
        record.end(third);
        assert_eq!((record.floor(), record.newest()), (3, 3));
        record.set_present();
        assert!(record.is_present());
    }

    #[test]
    fn the_last_version_is_followed_by_an_error() {
        let record = Record(AtomicU64::new(NEWEST - 1));
        record.end(record.begin().unwrap());
        assert_eq!(u64::from(record.floor()), NEWEST);
        let error = record.begin().unwrap_err().to_string();
        assert!(error.contains("run fewer operations"), "{error}");
        assert_eq!(u64::from(record.newest()), NEWEST);
    }
}
