//! Keys that a cursor has gone ahead of, with their values.

use crate::entry::{Content, Pointer};
use crate::error::{Error, Result};
use crate::memory::Pinned;
use crate::version::ValueFiles;

/// Keys in the order in which they are shown, with their values, or why these cannot be read. The memory of the keys is
/// used again.
#[derive(Default)]
pub(super) struct Ahead {
    /// The keys, one behind the other.
    keys: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    values: Vec<Result<Pinned>>,
    /// Of which keys values are still to be read, and where these lie.
    apart: Vec<(usize, Pointer)>,
    /// The one that is shown; the first one, if there are any.
    at: usize,
    /// Why there are no more.
    pub failed: Option<Error>,
}

impl Ahead {
    /// The key that is shown and its value; `None` if there are no keys.
    #[inline]
    pub fn shown(&self) -> Option<(&[u8], &Pinned)> {
        let value = self.values.get(self.at)?.as_ref().ok()?;
        Some((self.key(self.at), value))
    }

    fn key(&self, nth: usize) -> &[u8] {
        key_of(&self.keys, &self.ends, nth)
    }

    /// Whether no key follows the one that is shown.
    pub fn is_at_end(&self) -> bool {
        self.at + 1 >= self.values.len() && self.failed.is_none()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.ends.clear();
        self.values.clear();
        self.apart.clear();
        self.at = 0;
        self.failed = None;
    }

    /// Forgets all but the key that is shown.
    pub fn leave_but_shown(&mut self) {
        let end = self.ends.get(self.at).copied().unwrap_or(0);
        let start = end - self.key(self.at).len();
        self.keys.truncate(end);
        self.keys.drain(..start);
        self.ends.clear();
        self.ends.push(end - start);
        self.values.truncate(self.at + 1);
        self.values.drain(..self.at);
        self.at = 0;
    }

    /// Appends a key with its value, or the pointer to it.
    pub fn push(&mut self, key: &[u8], content: Content) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        let value = match content {
            Content::Here(value) => value,
            Content::Apart(pointer) => {
                self.apart.push((self.values.len(), pointer));
                Pinned::empty()
            }
        };
        self.values.push(Ok(value));
    }

    /// Reads the values that pointers lead to.
    pub fn resolve(&mut self, files: &ValueFiles, keyspace: u32) {
        let (keys, ends) = (&self.keys, &self.ends);
        let wanted = self.apart.iter();
        let wanted = wanted.map(|(nth, pointer)| (*nth, key_of(keys, ends, *nth), *pointer));
        files.read_all(keyspace, wanted, false, &mut self.values);
        self.apart.clear();
    }

    /// Shows the next key, unless it lies beyond the bound that there is now. Returns `false` if none is shown.
    ///
    /// # Errors
    /// If its value cannot be read, or the step to it failed; the same again when it is called again.
    pub fn show_next(&mut self, is_beyond: impl Fn(&[u8]) -> bool) -> Result<bool> {
        let next = self.at + 1;
        match (self.values.get(next), &self.failed) {
            (Some(_), _) if is_beyond(self.key(next)) => Ok(false),
            (Some(Ok(_)), _) => {
                if let Some(left) = self.values.get_mut(self.at) {
                    *left = Ok(Pinned::empty());
                }
                self.at = next;
                Ok(true)
            }
            (Some(Err(e)), _) | (None, Some(e)) => Err(e.clone()),
            (None, None) => Ok(false),
        }
    }
}

/// One of several keys that lie one behind the other.
fn key_of<'k>(keys: &'k [u8], ends: &[usize], nth: usize) -> &'k [u8] {
    let before = nth.checked_sub(1).and_then(|before| ends.get(before));
    let start = before.copied().unwrap_or(0);
    let end = ends.get(nth).copied().unwrap_or(start);
    keys.get(start..end).unwrap_or_default()
}
