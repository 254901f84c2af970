//! A store in memory for tests, which can give wrong answers of a chosen sort.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::{Cursor, Store};
use crate::data::Pairs;
use crate::error::Result;

/// All pairs of the store.
pub type Held = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store in memory. Its answers are correct until [`Model::lie`] is called.
#[derive(Default)]
pub struct Model {
    pairs: RwLock<Held>,
    lie: Mutex<Option<Lie>>,
    stall: Mutex<Duration>,
}

/// The sort of wrong answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lie {
    FlipValue,
    InventKeys,
    ForgetKeys,
    EndScansEarly,
    SkipInScans,
    /// Keeps the first value of each key.
    LoseUpdates,
}

impl Model {
    /// Makes answers wrong from now on.
    pub fn lie(&self, lie: Lie) {
        *self.lie.lock().unwrap_or_else(PoisonError::into_inner) = Some(lie);
    }

    /// Delays the next get.
    pub fn stall_once(&self, stall: Duration) {
        *self.stall.lock().unwrap_or_else(PoisonError::into_inner) = stall;
    }

    /// All pairs in the store.
    pub fn pairs(&self) -> Held {
        self.held().clone()
    }

    fn held(&self) -> std::sync::RwLockReadGuard<'_, Held> {
        self.pairs.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lies(&self, lie: Lie) -> bool {
        *self.lie.lock().unwrap_or_else(PoisonError::into_inner) == Some(lie)
    }
}

impl Store for Model {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let lose = self.lies(Lie::LoseUpdates);
        let mut held = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.iter() {
            if !(lose && held.contains_key(key)) {
                held.insert(key.to_vec(), value.to_vec());
            }
        }
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let mut held = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        held.remove(key);
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        let stall = std::mem::take(&mut *self.stall.lock().unwrap_or_else(PoisonError::into_inner));
        std::thread::sleep(stall);
        into.clear();
        into.extend(self.held().get(key).cloned().unwrap_or_default());
        if self.lies(Lie::FlipValue) {
            into[3] ^= 1;
        }
        Ok((self.lies(Lie::InventKeys) || !into.is_empty()) && !self.lies(Lie::ForgetKeys))
    }

    fn scan(&self, start: &[u8], count: usize, into: &mut Pairs) -> Result<()> {
        into.clear();
        let count = count - usize::from(self.lies(Lie::EndScansEarly));
        let skip = usize::from(self.lies(Lie::SkipInScans));
        for (key, value) in self.held().range(start.to_vec()..).skip(skip).take(count) {
            into.push(key, value);
        }
        Ok(())
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        let pairs = self.pairs();
        with(&mut Forward {
            pairs: &pairs,
            at: None,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A cursor over the pairs of a model.
struct Forward<'p> {
    pairs: &'p Held,
    at: Option<(&'p [u8], &'p [u8])>,
}

impl Forward<'_> {
    fn move_to(&mut self, from: Bound<&[u8]>) -> bool {
        let next = self.pairs.range::<[u8], _>((from, Bound::Unbounded)).next();
        self.at = next.map(|(key, value)| (&key[..], &value[..]));
        self.at.is_some()
    }
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.move_to(Bound::Included(key)))
    }

    fn advance(&mut self) -> Result<bool> {
        let (key, _) = self.pair();
        let key = key.to_vec();
        Ok(self.move_to(Bound::Excluded(&key)))
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        self.at.unwrap_or_default()
    }
}
