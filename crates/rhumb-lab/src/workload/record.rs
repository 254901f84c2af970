//! What is known of one record while many threads write it: which versions a read may find.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// The word of one record. Version 0 is the value that was inserted; every update issues the next
/// one.
///
/// ```text
/// bit 63   the record was inserted, and the store has confirmed it
/// 56..63   updates under way
/// 28..56   floor: no read that begins now may find an older version
/// 0..28    the newest version issued
/// ```
///
/// Of two updates under way at once the store alone knows which came last, so the floor rises only
/// at the end of an update that had the record to itself when it began: all older ones had ended.
/// With one thread that is every update, and floor and newest version are the same whenever a read
/// begins.
#[derive(Debug, Default)]
pub struct Record(AtomicU64);

const VERSION_BITS: u32 = 28;
/// The newest version there can be.
const NEWEST: u64 = (1 << VERSION_BITS) - 1;
const WRITER: u64 = 1 << 56;
const WRITERS: u64 = 0x7f << 56;
const PRESENT: u64 = 1 << 63;

/// The most threads that may update at once.
pub const MOST_THREADS: usize = 0x7f;

/// An update under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The version that it writes.
    pub version: u32,
    alone: bool,
}

impl Record {
    /// A record that the store holds from the beginning.
    pub fn present() -> Record {
        Record(AtomicU64::new(PRESENT))
    }

    /// Whether the store has confirmed that it holds the record.
    pub fn is_present(&self) -> bool {
        self.0.load(Ordering::Acquire) & PRESENT != 0
    }

    /// Says that the store has confirmed it.
    pub fn set_present(&self) {
        self.0.fetch_or(PRESENT, Ordering::AcqRel);
    }

    /// The oldest version that a read which begins now may find.
    pub fn floor(&self) -> u32 {
        (self.0.load(Ordering::Acquire) >> VERSION_BITS & NEWEST) as u32
    }

    /// The newest version that a read which ended before now may have found.
    pub fn newest(&self) -> u32 {
        (self.0.load(Ordering::Acquire) & NEWEST) as u32
    }

    /// Issues the next version, before it is written.
    ///
    /// # Errors
    /// If there are too many versions to count.
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
                "a record was updated {NEWEST} times, more than can be told apart: run fewer operations"
            ))),
        }
    }

    /// Says that the store has confirmed an update.
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
        // Never fails: the closure always has a next word.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, finish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_leaves_no_choice() {
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
    fn of_two_at_once_either_may_last() {
        let record = Record::default();
        assert!(!record.is_present());
        let first = record.begin().unwrap();
        let second = record.begin().unwrap();
        record.end(second);
        assert_eq!((record.floor(), record.newest()), (0, 2));
        // The first one had the record to itself when it began, so what was before it is gone.
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
