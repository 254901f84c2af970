//! Writes that happen only if a key has the value that the writer expects.
//!
//! The writer that leads a group checks them, in the order of commits and under the write lock: against
//! the writes of the same frame that come before, and below those against the store, which has all
//! earlier frames in its memtables. So no write comes between the check and the write.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::batch::WriteBatch;
use super::group::{Request, Written};
use crate::db::read::lookup::Lookup;
use crate::db::store::{OpenKeyspace, Store};
use crate::entry::Sequence;
use crate::entry::operations::{Op, OperationIter};
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
pub(in crate::db) struct Condition {
    pub(in crate::db) keyspace: Arc<OpenKeyspace>,
    pub(in crate::db) key: Vec<u8>,
    /// The value that the key must have; `None`: it must have none.
    pub(in crate::db) expected: Option<Vec<u8>>,
}

impl Condition {
    /// Compares with the value that the key has.
    pub(in crate::db) fn compare(&self, current: Option<&[u8]>) -> Result<(), CompareAndSwapError> {
        if current == self.expected.as_deref() {
            return Ok(());
        }
        let current = current.map(<[u8]>::to_vec);
        Err(CompareAndSwapError { current })
    }
}

/// A key's value after a change; `None` if it has none.
type Change<'a> = Option<&'a [u8]>;

/// The last change that a frame makes of each key that its conditions are about, by keyspace and key; `None`
/// before the first. So each batch is gone through once, however many conditions come after it.
struct WatchedKeys<'a>(BTreeMap<(u32, &'a [u8]), Option<Change<'a>>>);

impl<'a> WatchedKeys<'a> {
    /// The keys of a frame's conditions, none of them changed.
    fn of(frame: &[&'a Request<'_>]) -> Self {
        let conditions = frame.iter().filter_map(|r| r.condition.as_deref());
        let keys = conditions.map(|c| ((c.keyspace.id, c.key.as_slice()), None));
        WatchedKeys(keys.collect())
    }

    /// Notes what a batch makes of the keys.
    fn note(&mut self, batch: &'a WriteBatch) {
        let watched = |id| self.0.keys().any(|(watched, _)| *watched == id);
        if !batch.keyspaces.iter().any(|k| watched(k.id)) {
            return;
        }
        for operation in OperationIter::new(batch.operations.bytes()).flatten() {
            let id = operation.keyspace;
            let (key, change) = match operation.op {
                Op::Put { key, value } => (key, Some(value)),
                Op::Delete { key } => (key, None),
                Op::RangeDelete { start, end } => {
                    // No batch takes a range that does not start below its end.
                    for (_, change) in self.0.range_mut((id, start)..(id, end)) {
                        *change = Some(None);
                    }
                    continue;
                }
            };
            if let Some(known) = self.0.get_mut(&(id, key)) {
                *known = Some(change);
            }
        }
    }
}

impl Store {
    /// Whether the condition of each request of a frame holds, and the requests that are to be written. The
    /// writes up to `last` are all in memtables or tables, those of the frame not yet. The caller holds the
    /// write lock.
    pub(in crate::db) fn check_conditions<'a>(
        &self,
        frame: &[&'a Request<'a>],
        last: Sequence,
    ) -> (Vec<Written>, Vec<&'a Request<'a>>) {
        let mut watched = WatchedKeys::of(frame);
        let last_condition = frame.iter().rposition(|r| r.condition.is_some());
        let mut checked = Vec::with_capacity(frame.len());
        let mut accepted = Vec::with_capacity(frame.len());
        for (at, &request) in frame.iter().enumerate() {
            let holds = match &request.condition {
                Some(condition) => self.check_condition(condition, &watched, last),
                None => Ok(Ok(())),
            };
            if let Ok(Ok(())) = holds {
                accepted.push(request);
                if last_condition.is_some_and(|last| at < last) {
                    watched.note(&request.batch);
                }
            }
            checked.push(holds);
        }
        (checked, accepted)
    }

    /// Whether a condition holds behind the writes up to `last` and those that `watched` noted.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn check_condition(
        &self,
        condition: &Condition,
        watched: &WatchedKeys<'_>,
        last: Sequence,
    ) -> Written {
        let (keyspace, key) = (&condition.keyspace, &condition.key);
        if let Some(Some(current)) = watched.0.get(&(keyspace.id, key)) {
            return Ok(condition.compare(*current));
        }
        let view = keyspace.view.load();
        let mut source = BlockSource::new(true);
        let mut lookup = Lookup::new(key, last);
        lookup.run(&view, &mut source)?;
        let current = lookup.take_answer();
        let current = lookup.resolve(&view, keyspace.id, current)?;
        Ok(condition.compare(current.as_deref()))
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::db::{Db, WriteBatch};
    use crate::options::{Durability, Options};

    type Write = fn(&Db, &mut WriteBatch) -> Result<()>;
    /// What is expected, if anything; what is written; the value that is there instead.
    type Step<'a> = (Option<Option<&'a str>>, Write, Result<(), Option<&'a str>>);

    fn request(db: &Db, expected: Option<Option<&str>>, change: Write) -> Request<'static> {
        let mut batch = WriteBatch::new();
        change(db, &mut batch).unwrap();
        Request {
            batch: Cow::Owned(batch),
            durability: Durability::Buffered,
            condition: expected.map(|expected| {
                Box::new(Condition {
                    keyspace: db.state().clone(),
                    key: b"k".to_vec(),
                    expected: expected.map(|value| value.as_bytes().to_vec()),
                })
            }),
        }
    }

    /// Writes of one group see those before them, as they do of different groups.
    #[test]
    fn conditions_see_what_comes_before_in_their_group() {
        let put_1: Write = |db, batch| batch.put(db, "k", "1");
        let put_2: Write = |db, batch| batch.put(db, "k", "2");
        let put_3: Write = |db, batch| batch.put(db, "k", "3");
        let delete: Write = |db, batch| batch.delete(db, "k");
        let delete_range: Write = |db, batch| batch.delete_range(db, "a".."z");
        let beside: Write = |db, batch| {
            batch.put(db, "j", "9")?;
            batch.delete_range(db, "l".."z")?;
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
                answers.extend(store.commit_group(&group.collect::<Vec<_>>()));
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

    /// The keys of several conditions, in several keyspaces, are told apart.
    #[test]
    fn conditions_of_a_group_are_about_several_keys() {
        let db = Db::open("store", Options::in_memory()).unwrap();
        let other = db.create_keyspace("other").unwrap();
        for key in ["a", "b"] {
            db.put(key, "0").unwrap();
            other.put(key, "5").unwrap();
        }
        let mut plain = WriteBatch::new();
        plain.delete_range(&db, "a".."b").unwrap();
        plain.put(&other, "a", "9").unwrap();
        let mut group = vec![Request {
            batch: Cow::Owned(plain),
            durability: Durability::Buffered,
            condition: None,
        }];
        let swaps = [
            (&*db, "a", None, "1", Ok(())),
            (&other, "a", Some("9"), "10", Ok(())),
            (&db, "b", Some("0"), "1", Ok(())),
            (&other, "b", Some("0"), "1", Err(Some("5"))),
            (&db, "a", Some("1"), "2", Ok(())),
            (&other, "a", Some("9"), "11", Err(Some("10"))),
        ];
        for (keyspace, key, expected, new, _) in &swaps {
            let mut batch = WriteBatch::new();
            batch.put(keyspace, key, new).unwrap();
            group.push(Request {
                batch: Cow::Owned(batch),
                durability: Durability::Buffered,
                condition: Some(Box::new(Condition {
                    keyspace: keyspace.state().clone(),
                    key: key.as_bytes().to_vec(),
                    expected: expected.map(|value: &str| value.as_bytes().to_vec()),
                })),
            });
        }
        let answers = db.handle.store.commit_group(&group);
        assert_eq!(answers[0].as_ref().unwrap(), &Ok(()));
        for ((keyspace, key, .., expected), found) in swaps.iter().zip(&answers[1..]) {
            let current = |value: &str| value.as_bytes().to_vec();
            let expected = expected.map_err(|value: Option<&str>| CompareAndSwapError {
                current: value.map(current),
            });
            let name = keyspace.name();
            assert_eq!(found.as_ref().unwrap(), &expected, "{name}, {key}");
        }
        let values = [(&*db, "a", "2"), (&db, "b", "1"), (&other, "a", "10")];
        for (keyspace, key, value) in values {
            assert_eq!(
                keyspace.get(key).unwrap().as_deref(),
                Some(value.as_bytes())
            );
        }
    }
}
