//! The key maps of a keyspace, and how many of its tables use each.

use std::collections::BTreeMap;

use rhumb_index::KeyMap;

use crate::sync::Arc;

/// The key maps of a keyspace's tables. A map that no table uses is forgotten, but its number is not used
/// again while the store is open. Clones share what they do not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyMaps {
    by_number: Arc<BTreeMap<u64, Arc<KeyMap>>>,
    /// The number of tables that use each map.
    uses: Arc<BTreeMap<u64, u64>>,
    next: u64,
    /// The maps whose uses changed since they were last [settled](KeyMaps::settle).
    changed: Vec<u64>,
}

impl KeyMaps {
    /// The maps by number.
    pub fn by_number(&self) -> &Arc<BTreeMap<u64, Arc<KeyMap>>> {
        &self.by_number
    }

    /// A number above those of all maps so far.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Adds the map with these bytes.
    pub(super) fn add(&mut self, number: u64, bytes: &[u8]) -> Result<(), String> {
        let map = KeyMap::from_bytes(bytes).map_err(|e| format!("key map {number}: {e}"))?;
        match self.by_number.get(&number) {
            Some(known) if **known != map => {
                return Err(format!("a different key map with number {number}"));
            }
            Some(_) => {}
            None => drop(Arc::make_mut(&mut self.by_number).insert(number, Arc::new(map))),
        }
        self.next = self.next.max(number.saturating_add(1));
        self.changed.push(number);
        Ok(())
    }

    /// Counts one more table that uses a map, which may be added later in the same edit.
    pub(super) fn begin_use(&mut self, number: u64) {
        *Arc::make_mut(&mut self.uses).entry(number).or_default() += 1;
        self.changed.push(number);
    }

    /// Counts one table less that uses a map.
    pub(super) fn end_use(&mut self, number: u64) {
        if let Some(uses) = Arc::make_mut(&mut self.uses).get_mut(&number) {
            *uses -= 1;
        }
        self.changed.push(number);
    }

    /// Forgets the maps that no table uses any more.
    ///
    /// # Errors
    /// If a table uses a map that is not known.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        for number in std::mem::take(&mut self.changed) {
            let known = self.by_number.contains_key(&number);
            match self.uses.get(&number) {
                None | Some(0) => {
                    Arc::make_mut(&mut self.uses).remove(&number);
                    if known {
                        Arc::make_mut(&mut self.by_number).remove(&number);
                    }
                }
                Some(_) if known => {}
                Some(_) => {
                    return Err(format!(
                        "tables with key map {number}, which does not exist"
                    ));
                }
            }
        }
        Ok(())
    }
}
