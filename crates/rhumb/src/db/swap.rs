//! Writes that happen only if a key has the value that the writer expects.
//!
//! The writer that leads a group checks them, in the order of commits and under the write lock: against
//! the writes of the same frame that come before, and below those against the store, which has all
//! earlier frames in its memtables. So no write of anybody comes between the check and the write.

use std::fmt;
use std::sync::Arc;

use super::read::Lookup;
use super::store::{OpenKeyspace, Store};
use super::write::Request;
use crate::entry::Sequence;
use crate::error::Result;
use crate::table::BlockSource;

/// The key of a compare-and-swap had another value than expected: nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareAndSwapError {
    /// The value that the key has instead; `None` if it has none.
    pub current: Option<Vec<u8>>,
}

impl fmt::Display for CompareAndSwapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = match self.current {
            Some(_) => "another value",
            None => "no value",
        };
        write!(
            f,
            "the key has {has}: compute the new value from `current` and try again"
        )
    }
}

impl std::error::Error for CompareAndSwapError {}

/// What must hold for a write to happen.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) keyspace: Arc<OpenKeyspace>,
    pub(super) key: Vec<u8>,
    /// The value that the key must have; `None`: it must have none.
    pub(super) expected: Option<Vec<u8>>,
}

impl Condition {
    /// Compares with the value that the key has.
    pub(super) fn compare(&self, current: Option<&[u8]>) -> Result<(), CompareAndSwapError> {
        if current == self.expected.as_deref() {
            return Ok(());
        }
        let current = current.map(<[u8]>::to_vec);
        Err(CompareAndSwapError { current })
    }
}

impl Store {
    /// Whether a condition holds behind the writes up to `last`, which are all in memtables or tables, and
    /// `before`, which are not yet. The caller holds the write lock.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    pub(super) fn check_condition(
        &self,
        condition: &Condition,
        before: &[&Request],
        last: Sequence,
    ) -> Result<Result<(), CompareAndSwapError>> {
        let (keyspace, key) = (&condition.keyspace, &condition.key);
        let changes = before.iter().rev();
        let mut changes = changes.filter_map(|request| request.batch.change_of(keyspace.id, key));
        if let Some(current) = changes.next() {
            return Ok(condition.compare(current));
        }
        let view = keyspace.view.load();
        let mut source = BlockSource::new(true);
        let current = Lookup::new(key, last).run(&view, &mut source)?;
        Ok(condition.compare(current.as_deref()))
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::db::{Db, WriteBatch};
    use crate::options::{Durability, Options};

    type Change = fn(&Db, &mut WriteBatch) -> Result<()>;
    /// What is expected, if anything; what is written; the value that is there instead.
    type Step<'a> = (Option<Option<&'a str>>, Change, Result<(), Option<&'a str>>);

    fn request(db: &Db, expected: Option<Option<&str>>, change: Change) -> Request {
        let mut batch = WriteBatch::new();
        change(db, &mut batch).unwrap();
        Request {
            batch,
            durability: Durability::Buffered,
            condition: expected.map(|expected| Condition {
                keyspace: db.state().clone(),
                key: b"k".to_vec(),
                expected: expected.map(|value| value.as_bytes().to_vec()),
            }),
        }
    }

    /// Writes of one group see those before them, as they do of different groups.
    #[test]
    fn conditions_see_what_comes_before_in_their_group() {
        let put_1: Change = |db, batch| batch.put(db, "k", "1");
        let put_2: Change = |db, batch| batch.put(db, "k", "2");
        let put_3: Change = |db, batch| batch.put(db, "k", "3");
        let delete: Change = |db, batch| batch.delete(db, "k");
        let delete_range: Change = |db, batch| batch.delete_range(db, "a", "z");
        let beside: Change = |db, batch| {
            batch.put(db, "j", "9")?;
            batch.delete_range(db, "l", "z")?;
            batch.put(&db.keyspace("other")?, "k", "8")
        };
        let steps: [Step; 11] = [
            (Some(None), put_1, Err(Some("0"))),
            (Some(Some("0")), put_1, Ok(())),
            (None, beside, Ok(())),
            (Some(Some("0")), put_3, Err(Some("1"))),
            (Some(Some("1")), put_2, Ok(())),
            (None, delete_range, Ok(())),
            (Some(Some("2")), put_3, Err(None)),
            (Some(None), put_3, Ok(())),
            (Some(Some("3")), delete, Ok(())),
            (Some(None), put_1, Ok(())),
            (Some(Some("1")), put_2, Ok(())),
        ];
        // All in one group, and each in one of its own.
        for at_once in [steps.len(), 1] {
            let db = Db::open("store", Options::in_memory()).unwrap();
            db.create_keyspace("other").unwrap();
            db.put("k", "0").unwrap();
            let store = &db.handle.store;
            let mut answers = Vec::new();
            for group in steps.chunks(at_once) {
                let group = group
                    .iter()
                    .map(|(expected, change, _)| request(&db, *expected, *change));
                answers.extend(store.commit_group(group.collect()));
            }
            for ((_, _, expected), found) in steps.iter().zip(answers) {
                let current = |current: Option<&str>| current.map(|c| c.as_bytes().to_vec());
                let expected = expected.map_err(|c| CompareAndSwapError {
                    current: current(c),
                });
                assert_eq!(found.unwrap(), expected);
            }
            assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"2"[..]));
            // What was refused took no sequence.
            assert_eq!(store.visible(), 1 + 8 + 2);
        }
    }
}
