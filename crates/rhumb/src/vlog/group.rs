//! Groups of values by the hashes of their keys: HashKV's form of a value log.
//!
//! H. H. W. Chan et al., "HashKV: Enabling Efficient Updates in KV Storage via Hashing", section 3.2.

use std::fmt;
use std::num::NonZero;

use crate::entry::hash_key;
use crate::entry::varint::{Reader, encode};

/// The keys with hashes in one of so many equal ranges (docs/format.md, Value references).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValueGroup {
    groups: NonZero<u16>,
    number: u16,
}

/// What tables say of a value file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValueFileMeta {
    /// Its length.
    pub bytes: u64,
    /// The group of all keys whose values it holds; `None` if they may be any.
    pub group: Option<ValueGroup>,
}

impl ValueGroup {
    /// A group of so many; `None` if there is none of this number.
    pub fn new(number: u16, groups: NonZero<u16>) -> Option<Self> {
        (number < groups.get()).then_some(ValueGroup { groups, number })
    }

    /// The group of a key.
    pub fn of_key(key: &[u8], groups: NonZero<u16>) -> Self {
        let scaled = u128::from(hash_key(key)) * u128::from(groups.get());
        ValueGroup {
            groups,
            number: (scaled >> 64) as u16,
        }
    }

    /// Whether a key belongs to this group.
    pub fn has(self, key: &[u8]) -> bool {
        ValueGroup::of_key(key, self.groups) == self
    }

    /// How many groups there are.
    pub fn groups(self) -> NonZero<u16> {
        self.groups
    }

    /// Appends the byte form of a group, or of none.
    pub fn encode(group: Option<Self>, into: &mut Vec<u8>) {
        encode(group.map_or(0, |group| group.groups.get().into()), into);
        if let Some(group) = group {
            encode(group.number.into(), into);
        }
    }

    /// Reads what [`ValueGroup::encode`] wrote.
    ///
    /// # Errors
    /// What was found in place of that.
    pub fn take(from: &mut Reader<'_>) -> Result<Option<Self>, String> {
        let mut number = || from.varint().ok_or("an incomplete group of values");
        let groups = number()?;
        if groups == 0 {
            return Ok(None);
        }
        let (number, wide) = (number()?, groups);
        let groups = u16::try_from(groups).ok().and_then(NonZero::new);
        let group = groups.zip(u16::try_from(number).ok());
        let group = group.and_then(|(groups, number)| ValueGroup::new(number, groups));
        match group {
            Some(group) => Ok(Some(group)),
            None => Err(format!("group {number} of {wide} of values")),
        }
    }
}

/// As text: `group 3 of 16`.
impl fmt::Display for ValueGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {} of {}", self.number, self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(n: u16) -> NonZero<u16> {
        NonZero::new(n).unwrap()
    }

    #[test]
    fn each_key_is_in_one_group_and_groups_are_alike() {
        for n in [1, 3, 16, 1_024, u16::MAX] {
            let mut counts = vec![0; n.into()];
            for key in 0..10_000u32 {
                let key = key.to_le_bytes();
                let group = ValueGroup::of_key(&key, groups(n));
                assert!(group.has(&key));
                counts[usize::from(group.number)] += 1;
            }
            let most = counts.iter().max().unwrap();
            assert!(
                *most <= 2 * 10_000 / u32::from(n) + 20,
                "{most} keys in one of {n} groups"
            );
        }
    }

    #[test]
    fn groups_follow_the_hashes() {
        let mut keys: Vec<[u8; 4]> = (0..1_000u32).map(u32::to_le_bytes).collect();
        keys.sort_by_key(|key| hash_key(key));
        let numbers = keys
            .iter()
            .map(|key| ValueGroup::of_key(key, groups(7)).number);
        assert!(numbers.is_sorted());
    }

    #[test]
    fn groups_come_back_and_wrong_ones_are_refused() {
        for group in [
            None,
            ValueGroup::new(0, groups(1)),
            ValueGroup::new(300, groups(1_000)),
        ] {
            let mut bytes = Vec::new();
            ValueGroup::encode(group, &mut bytes);
            assert_eq!(ValueGroup::take(&mut Reader::new(&bytes)), Ok(group));
            for len in 0..bytes.len() {
                assert!(ValueGroup::take(&mut Reader::new(&bytes[..len])).is_err());
            }
        }
        for (of, number) in [(1, 1), (3, 1 << 20), (1 << 16, 0), (u64::MAX, 1)] {
            let mut bytes = Vec::new();
            encode(of, &mut bytes);
            encode(number, &mut bytes);
            assert!(ValueGroup::take(&mut Reader::new(&bytes)).is_err());
        }
    }
}
