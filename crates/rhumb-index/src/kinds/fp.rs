//! Fence pointers, compressed: one shortest separator a block.
//!
//! A separator is the shortest string above every key before the block and not above the block's
//! first key. The prefix that all separators share is stored once. The rest is front-coded in
//! groups of 64: the first of a group, its *head*, is stored whole; each of the others as the
//! length of the prefix shared with the one before it and its remaining bytes. A look-up is a
//! binary search over the heads, O(log S) steps for S separators, and a scan of one group, which
//! compares each byte of the key once and rebuilds no separator. Building takes time linear in the
//! bytes of the separators. All keys are supported.
//!
//! Byte form, version 2, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  S, number of separators: the table has S + 1 blocks
//!      8     4  P, length of the prefix that all separators share
//!     12     4  B, bytes of all groups
//!     16     P  the prefix that all separators share
//!           4G  offset of each group in the groups' bytes; G = S / 64, rounded up
//!            B  groups: a head is length, bytes; the others are shared length, length, bytes
//! ```
//!
//! Lengths inside groups are LEB128. Version 1 had groups of 16. With `boundary=`, version 3 has two
//! fields more before S ([`super::shared::spans`]); then S counts the separators between spans of keys.

use std::cmp::Ordering;

use super::shared::front;
use super::shared::separators::{Cut, FenceBuilder, Separators};
use super::shared::spans::{self, BOUNDARY, Spans};
use crate::bytes::{Reader, u32_of};
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::search::common_prefix;
use crate::{ByteForm, Index, IndexError, Position, Probe};

/// Separators in a group. Longer groups need fewer heads and fewer steps of the search among them,
/// but a longer scan.
const GROUP: usize = 64;

/// Separators in a group of version 1.
const FIRST_GROUP: usize = 16;

pub(crate) const KIND: Kind = Kind {
    name: "fp",
    id: 1,
    about: "fence pointers: shortest separators, front-coded in groups of 64",
    knobs: &[BOUNDARY],
    needs_number: false,
    answers: Answers::Blocks,
    version: spans::VERSION,
    in_memory: FORM_ONLY,
    builder: |settings| {
        let encode = |separators: &Separators, out: &mut Vec<u8>| encode(separators, GROUP, out);
        let boundary = BOUNDARY.of(settings);
        Box::new(FenceBuilder::new(&KIND, Cut::Shortest, boundary, encode))
    },
    open: |bytes| Ok(Box::new(Fp::open(bytes)?)),
};

/// Appends the bytes after the common header.
fn encode(separators: &Separators, group: usize, out: &mut Vec<u8>) {
    // Separators ascend, so the common prefix of the first and the last is that of all.
    let last = separators.get(separators.len().saturating_sub(1));
    let prefix = last
        .get(..common_prefix(separators.get(0), last))
        .unwrap_or_default();
    let (offsets, groups) = front_code(separators, group, prefix.len());
    for length in [separators.len(), prefix.len(), groups.len()] {
        out.extend((length as u32).to_le_bytes());
    }
    out.extend(prefix);
    out.extend(offsets);
    out.extend(groups);
}

/// The offset column and the groups, without the first `skip` bytes of each separator.
fn front_code(separators: &Separators, group: usize, skip: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut offsets, mut groups) = (Vec::new(), Vec::new());
    let mut before: &[u8] = &[];
    for i in 0..separators.len() {
        let own = separators.get(i).get(skip..).unwrap_or_default();
        let is_head = i % group == 0;
        if is_head {
            offsets.extend((groups.len() as u32).to_le_bytes());
        }
        front::put((!is_head).then_some(before), own, &mut groups);
        before = own;
    }
    (offsets, groups)
}

/// Compressed fence pointers, used from their bytes.
#[derive(Debug)]
struct Fp<'a> {
    bytes: ByteForm<'a>,
    separators: usize,
    /// Separators in a group.
    group: usize,
    spans: Spans,
    /// Offsets of the shared prefix, of the group offsets, where the shared prefix ends, and of the groups.
    prefix_at: usize,
    offsets_at: usize,
    groups_at: usize,
}

impl<'a> Fp<'a> {
    fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(1)?;
        let version = reader.u8()?;
        let group = if version == 1 { FIRST_GROUP } else { GROUP };
        reader.take(2)?;
        let spans = Spans::read(&mut reader, version)?;
        let (separators, prefix, length) = (reader.length()?, reader.length()?, reader.length()?);
        spans.check(&reader, separators)?;
        let prefix_at = reader.at();
        reader.take(prefix)?;
        let offsets_at = reader.at();
        let count = separators.div_ceil(group);
        let offsets = reader.take(count.saturating_mul(4))?;
        let groups_at = reader.at();
        reader.take(length)?;
        reader.end()?;
        for at in 0..count {
            let (before, start) = (at.checked_sub(1), u32_of(offsets, at));
            let ascends = before.map_or(start == 0, |before| u32_of(offsets, before) < start);
            if !ascends {
                let offset = offsets_at + at * 4;
                return Err(reader.damaged_at(offset, "group offsets that ascend from 0", start));
            }
        }
        let last = count
            .checked_sub(1)
            .map_or(0, |group| u32_of(offsets, group) as usize);
        if last > length {
            return Err(reader.damaged(format!("group offsets up to {length}"), last));
        }
        Ok(Fp {
            separators,
            group,
            spans,
            prefix_at,
            offsets_at,
            groups_at,
            bytes,
        })
    }

    /// The bytes from a group's head on; empty past the end.
    fn group(&self, group: usize) -> &[u8] {
        let offsets = self
            .bytes
            .get(self.offsets_at..self.groups_at)
            .unwrap_or_default();
        let at = self
            .groups_at
            .saturating_add(u32_of(offsets, group) as usize);
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The last group whose head is not above the key, or 0.
    fn find_group(&self, key: &[u8]) -> usize {
        let (mut group, mut left) = (0, self.separators.div_ceil(self.group));
        while left > 1 {
            let half = left / 2;
            let mut rest = self.group(group + half);
            let head = front::take(&mut rest).unwrap_or_default();
            if head <= key {
                group += half;
            }
            left -= half;
        }
        group
    }
}

impl Index for Fp<'_> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let prefix = self
            .bytes
            .get(self.prefix_at..self.offsets_at)
            .unwrap_or_default();
        let front = probe.key.get(..prefix.len()).unwrap_or(probe.key);
        let block = match front.cmp(prefix) {
            Ordering::Less => 0,
            Ordering::Greater => self.separators,
            Ordering::Equal => {
                let key = probe.key.get(prefix.len()..).unwrap_or_default();
                let group = self.find_group(key);
                let members = (self.separators - group * self.group).min(self.group);
                group * self.group + front::not_above(self.group(group), members, key)
            }
        };
        self.spans.position(block)
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.spans.extent(self.separators)
    }

    fn widest_window(&self) -> u64 {
        self.spans.widest()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Case, SplitMix64, build, distributions, map_of};
    use crate::registry;

    /// The byte form of version 1, with groups of 16.
    fn first_form(keys: &[Vec<u8>], every: usize) -> Vec<u8> {
        let mut separators = Separators::new(Cut::Shortest);
        let starts = (1..keys.len()).filter(|rank| rank % every == 0);
        starts.for_each(|rank| separators.push(&keys[rank - 1], &keys[rank]));
        let mut bytes = vec![KIND.id, 1, 0, 0];
        encode(&separators, FIRST_GROUP, &mut bytes);
        bytes
    }

    #[test]
    fn both_forms_give_the_same_answers() {
        let spec = "fp".parse().unwrap();
        for name in ["paths", "uniform", "prefixes-of-each-other", "one", "none"] {
            let keys = distributions::by_name(name).unwrap();
            let keys = keys.keys(&mut SplitMix64::new(3), 1_000);
            let case = Case::new(&keys, &spec, 3);
            let second = registry::open(build(&case, &map_of(&keys)).unwrap()).unwrap();
            let first = registry::open(first_form(&keys, 3)).unwrap();
            assert_eq!(first.extent(), second.extent());
            for key in &keys {
                let probe = Probe { key, number: 0 };
                assert_eq!(first.locate(probe), second.locate(probe), "{name}");
            }
        }
    }
}
