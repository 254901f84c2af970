//! Builds the byte form of sorted entries.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::column::{Collector, Column};
use super::element::Element;
use super::finder::{self, BLOCK};
use super::form::{Header, Writer};
use crate::{IndexError, IndexSpec, KeyMap};

/// The default index: it takes few bytes, and its windows can be fetched with one wait for memory.
const DEFAULT: &str = "pgm:boundary=34";

/// The index used if so many keys share numbers that the default is unfit.
const FALLBACK: &str = "fp";

/// The byte form of a set.
pub(super) fn set<K, I>(spec: Option<&IndexSpec>, keys: I) -> Result<Vec<u8>, IndexError>
where
    K: Element + ?Sized,
    I: IntoIterator<Item: Borrow<K>>,
{
    let mut entries = Entries::<K>::default();
    for key in keys {
        entries.push(key.borrow())?;
    }
    entries.finish(spec, 0, |_| ())
}

/// Collects the keys of sorted entries.
pub(super) struct Entries<K: Element + ?Sized> {
    keys: <K::Column as Column>::Collector,
    /// How many distinct keys there are.
    distinct: u32,
    /// The first entry of each distinct key; `None` until a key repeats.
    firsts: Option<Vec<u32>>,
    len: u32,
}

impl<K: Element + ?Sized> Default for Entries<K> {
    fn default() -> Self {
        Entries {
            keys: Default::default(),
            distinct: 0,
            firsts: None,
            len: 0,
        }
    }
}

impl<K: Element + ?Sized> Entries<K> {
    /// Adds the key of the next entry.
    pub(super) fn push(&mut self, key: &K) -> Result<(), IndexError> {
        let position = self.len;
        self.len = position.checked_add(1).ok_or_else(|| IndexError::Unfit {
            kind: "a sorted set",
            why: "there are 2^32 entries or more: make several sets".into(),
        })?;
        let mut room = [0; 16];
        let item = key.stored(&mut room);
        match self.keys.compare_last(item) {
            Some(Ordering::Greater) => {
                let position = position.into();
                return Err(IndexError::UnsortedEntries { position });
            }
            Some(Ordering::Equal) => {
                self.firsts
                    .get_or_insert_with(|| (0..self.distinct).collect());
            }
            Some(Ordering::Less) | None => {
                self.keys.push(item);
                self.distinct += 1;
                if let Some(firsts) = &mut self.firsts {
                    firsts.push(position);
                }
            }
        }
        Ok(())
    }

    /// The byte form, with the values that `append` writes.
    pub(super) fn finish(
        self,
        spec: Option<&IndexSpec>,
        value_type: u8,
        append: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, IndexError> {
        let distinct = self.distinct as usize;
        let firsts = self.firsts.unwrap_or_default();
        let header = Header {
            key_type: K::CODE,
            value_type,
            block: BLOCK,
            entries: self.len as usize,
            distinct,
        };
        let mut writer = Writer::new();
        writer.section(|out| self.keys.finish(out));
        let place = writer.last();
        writer.section(|out| out.extend(firsts.iter().flat_map(|n| n.to_le_bytes())));
        writer.section(append);
        let keys = K::Column::open(writer.bytes(), place, distinct)?;
        let (index, map) = choose(spec, writer.bytes(), &keys, distinct)?;
        let map = map.map_or(Vec::new(), |map| map.to_bytes());
        writer.section(|out| out.extend_from_slice(&map));
        writer.section(|out| out.extend_from_slice(&index));
        Ok(writer.finish(header, &map))
    }
}

/// The given index, or the first default that can serve these keys.
fn choose<C: Column>(
    spec: Option<&IndexSpec>,
    form: &[u8],
    keys: &C,
    count: usize,
) -> Result<(Vec<u8>, Option<KeyMap>), IndexError> {
    match spec {
        Some(spec) => finder::build(spec, form, keys, count),
        None => match finder::build(&DEFAULT.parse()?, form, keys, count) {
            Err(IndexError::Unfit { .. }) => finder::build(&FALLBACK.parse()?, form, keys, count),
            built => built,
        },
    }
}
