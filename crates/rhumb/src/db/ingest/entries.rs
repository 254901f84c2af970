//! Sorted entries on their way into a table.

use rhumb_index::{KeyMap, KeyMapBuilder};

use crate::db::write::batch::{check_key, check_value};
use crate::entry::operations::{Op, OperationIter, Operations};
use crate::entry::{EntryKind, LARGEST_KEY, RangeDeletes};
use crate::error::{Error, Result};
use crate::table;
use crate::version::TableMeta;

/// The most bytes of a key that a message shows.
const SHOWN_BYTES: usize = 60;

/// Entries of ascending keys, each key once, held in memory until they are written as one table: the key map,
/// which the table's model is trained on, has to be known before the first entry is written.
#[derive(Debug, Default)]
pub(super) struct SortedEntries {
    /// The entries that are held. Nothing reads the keyspace that they name.
    operations: Operations,
    /// The last key, if there was one.
    last: Option<Vec<u8>>,
    /// The number of entries, those that were written included.
    taken: u64,
    /// The bytes of the keys and values that are held.
    bytes: u64,
}

impl SortedEntries {
    /// # Errors
    /// If the key does not sort after the last one, or key or value is too long; the entry is then not taken.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_value(value)?;
        self.take(key, value.len())?;
        self.operations.push_put(0, key, value);
        Ok(())
    }

    /// # Errors
    /// As [`SortedEntries::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.take(key, 0)?;
        self.operations.push_delete(0, key);
        Ok(())
    }

    /// Notes an entry, if it may come next.
    fn take(&mut self, key: &[u8], value_bytes: usize) -> Result<()> {
        check_key(key)?;
        if let Some(last) = self.last.as_deref().filter(|last| key <= *last) {
            let number = self.taken + 1;
            let (key, last) = (shown(key), shown(last));
            return Err(Error::InvalidArgument(match key == last {
                true => format!(
                    "entry {number} has the key \"{key}\" of the one before it: give each key once"
                ),
                false => format!(
                    "entry {number}, with key \"{key}\", does not sort after the one before it, with key \
                     \"{last}\": sort entries by the bytes of their keys"
                ),
            }));
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        self.taken += 1;
        self.bytes += (key.len() + value_bytes) as u64;
        Ok(())
    }

    /// The number of entries so far, those that were written included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The bytes of the keys and values that are held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.operations.bytes().is_empty()
    }

    /// The key map of the entries that are held.
    pub fn key_map(&self) -> KeyMap {
        let mut map = KeyMapBuilder::new();
        for operation in OperationIter::new(self.operations.bytes()).flatten() {
            match operation.op {
                Op::Put { key, .. } | Op::Delete { key } if key != LARGEST_KEY => map.push(key),
                _ => {}
            }
        }
        map.build()
    }

    /// Writes the entries that are held as a table, and ends it.
    ///
    /// # Errors
    /// If it cannot be written; the file is then removed if possible.
    pub fn write(&self, mut writer: table::TableWriter) -> Result<TableMeta> {
        for operation in OperationIter::new(self.operations.bytes()).flatten() {
            let added = match operation.op {
                Op::Put { key, value } => writer.add(key, 0, EntryKind::Put, value),
                Op::Delete { key } => writer.add(key, 0, EntryKind::Delete, &[]),
                // None is held.
                Op::RangeDelete { .. } => Ok(()),
            };
            if let Err(e) = added {
                // The first error says more than that of the removal.
                let _ = writer.abandon();
                return Err(e);
            }
        }
        Ok(writer.finish(&RangeDeletes::default())?.summary)
    }

    /// Drops the entries that are held; later ones still have to sort after them.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.bytes = 0;
    }
}

/// The start of a key, for messages.
fn shown(key: &[u8]) -> String {
    match key.get(..SHOWN_BYTES) {
        Some(start) if key.len() > SHOWN_BYTES => {
            format!("{}... ({} bytes)", start.escape_ascii(), key.len())
        }
        _ => key.escape_ascii().to_string(),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_sort_after_the_last_key_is_not_taken() {
        let mut entries = SortedEntries::default();
        entries.put(b"b", b"1").unwrap();
        for (key, why) in [
            ("b", "of the one before it"),
            ("a", "sort after"),
            ("", "sort after"),
        ] {
            let error = entries.put(key.as_bytes(), b"2").unwrap_err().to_string();
            assert!(error.contains("entry 2") && error.contains(why), "{error}");
            assert!(entries.delete(key.as_bytes()).is_err());
        }
        entries.delete(b"c").unwrap();
        assert_eq!((entries.taken(), entries.bytes()), (2, 3));
        entries.clear();
        assert!(entries.is_empty() && entries.bytes() == 0);
        // What was written still counts.
        assert!(entries.put(b"c", b"").is_err());
        entries.put(b"d", b"").unwrap();
        assert_eq!(entries.taken(), 3);
    }

    #[test]
    fn the_empty_key_may_come_first_and_the_largest_last() {
        let mut entries = SortedEntries::default();
        entries.put(b"", b"").unwrap();
        entries.put(LARGEST_KEY, b"").unwrap();
        let longer = [LARGEST_KEY, &[0]].concat();
        assert!(entries.put(&longer, b"").is_err());
        let error = entries.put(LARGEST_KEY, b"").unwrap_err().to_string();
        assert!(
            error.contains("65536 bytes") && error.len() < 500,
            "{error}"
        );
    }
}
