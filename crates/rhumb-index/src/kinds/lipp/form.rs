//! The byte form of an immutable tree of slots.
//!
//! ```text
//! offset  size  field
//!      0     8  base of the root
//!      8     4  packed model of the root
//!     12     4  S, number of slots of all nodes
//!     16   16S  slots: those of the root, then those of all nodes, each after its parent
//!
//! slot
//!      0     8  number: of an entry, or the base of a child
//!      8     4  rank of an entry, or the first slot of a child, which is after this one
//!     12     4  0 for an entry, or the packed model of a child
//!
//! packed model
//!   bits 0 to 7   class c of the number of slots: c slots if c is below 16, else
//!                 (8 + c % 8) * 2^(c / 8 - 1)
//!   bits 8 to 31  bits 7 to 30 of the slope (f32), whose other bits are zero
//! ```
//!
//! The slot of a number in a node is `floor(slope * double(number - base))`, clamped to the last
//! slot. The difference is an unsigned 64-bit integer, 0 if the number is below the base. A slot to
//! which no number of the tree belongs holds a copy of the next entry, or of the node's last entry
//! if there is none after it.

use super::fmcd::{FittedModel, runs};
use super::model::{Model, class, slots_of};
use crate::IndexError;
use crate::bytes::Reader;
use crate::kinds::shared::exact::Place;

/// Bytes of a slot.
const SLOT_BYTES: usize = 16;

/// Bytes before the slots.
const HEADER: usize = 16;

/// An upper bound on the nodes on a path in a valid form: children have at most two thirds of their
/// parents' entries.
const DEEPEST: usize = 64;

/// Appends the form of a tree over one or more ascending entries (number and rank). `slots_for`
/// gives the number of slots for a node of this many entries.
///
/// # Errors
/// [`IndexError::Unfit`] if there would be 2^32 slots or more.
pub(crate) fn lay(
    kind: &'static str,
    entries: &[(u64, u64)],
    slots_for: fn(usize) -> u32,
    out: &mut Vec<u8>,
) -> Result<(), IndexError> {
    let header = out.len();
    out.extend([0; HEADER]);
    let mut tree = Laying {
        first: out.len(),
        out,
        slots_for,
    };
    let root = tree.node(entries);
    let slots = (tree.out.len() - tree.first) / SLOT_BYTES;
    let (Some((base, packed)), Ok(slots)) = (root, u32::try_from(slots)) else {
        return Err(IndexError::Unfit {
            kind,
            why: format!("{slots} slots are too many: write smaller tables"),
        });
    };
    let fields = [
        &base.to_le_bytes()[..],
        &packed.to_le_bytes(),
        &slots.to_le_bytes(),
    ]
    .concat();
    if let Some(place) = out.get_mut(header..header + HEADER) {
        place.copy_from_slice(&fields);
    }
    Ok(())
}

struct Laying<'a> {
    out: &'a mut Vec<u8>,
    /// Offset of the slots.
    first: usize,
    slots_for: fn(usize) -> u32,
}

impl Laying<'_> {
    /// Lays out a node and all below it at the end of the form, and returns its base and packed
    /// model. `None` if there are too many slots.
    fn node(&mut self, entries: &[(u64, u64)]) -> Option<(u64, u32)> {
        let model = match entries {
            [entry] => Model::splitting(entry.0, entry.0, 1),
            _ => {
                FittedModel::new(entries, (self.slots_for)(entries.len()), |slots| {
                    slots_of(class(slots))
                })
                .model
            }
        };
        let start = self.out.len();
        self.out
            .resize(start + model.slots() as usize * SLOT_BYTES, 0);
        let mut next = start;
        for (slot, run) in runs(model, entries) {
            let [entry, ..] = *run else { continue };
            let at = start + slot as usize * SLOT_BYTES;
            // Fills empty slots up to here, and this one.
            self.fill(next, at + SLOT_BYTES, record(entry.0, entry.1 as u32, 0))?;
            next = at + SLOT_BYTES;
            if run.len() > 1 {
                let child = u32::try_from((self.out.len() - self.first) / SLOT_BYTES).ok()?;
                let (base, packed) = self.node(run)?;
                self.fill(at, next, record(base, child, packed))?;
            }
        }
        let end = start + model.slots() as usize * SLOT_BYTES;
        if let Some(last) = entries.last() {
            self.fill(next, end, record(last.0, last.1 as u32, 0))?;
        }
        Some((model.base(), model.pack()))
    }

    fn fill(&mut self, from: usize, to: usize, record: [u8; SLOT_BYTES]) -> Option<()> {
        let slots = self.out.get_mut(from..to)?.as_chunks_mut().0;
        slots.fill(record);
        Some(())
    }
}

/// A slot's bytes.
fn record(number: u64, place: u32, packed: u32) -> [u8; SLOT_BYTES] {
    (u128::from(number) | u128::from(place) << 64 | u128::from(packed) << 96).to_le_bytes()
}

/// A tree, read from its byte form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotTree {
    root: Model,
}

impl SlotTree {
    /// Reads the form, which must extend to the end of the reader.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if it is invalid. Undetected damage can make answers wrong.
    pub(crate) fn open(reader: &mut Reader<'_>) -> Result<Self, IndexError> {
        let base = reader.u64()?;
        let offset = reader.at();
        let packed = reader.u32()?;
        let slots = reader.length()?;
        let root = Model::unpack(base, packed);
        if root.slots() == 0 || root.slots() as usize > slots || !root.slope().is_finite() {
            let expected = format!("the model of 1 to {slots} slots");
            return Err(reader.damaged_at(offset, expected, format!("{root:?}")));
        }
        let len = slots.checked_mul(SLOT_BYTES);
        reader.take(len.unwrap_or(usize::MAX))?;
        reader.end()?;
        Ok(SlotTree { root })
    }

    /// Finds a number in the tree of this form. Reads one slot a level, and only a few even in
    /// damaged forms.
    #[inline]
    pub(crate) fn find(&self, form: &[u8], number: u64) -> Place {
        let slots = form
            .get(HEADER..)
            .unwrap_or_default()
            .as_chunks::<SLOT_BYTES>()
            .0;
        let (mut model, mut first) = (self.root, 0usize);
        for _ in 0..DEEPEST {
            let Some(slot) = slots.get(first + model.slot(number) as usize) else {
                break;
            };
            let slot = u128::from_le_bytes(*slot);
            let (own, place, packed) = (slot as u64, (slot >> 64) as u32, (slot >> 96) as u32);
            if packed == 0 {
                return Place::of(own, place.into(), number);
            }
            (model, first) = (Model::unpack(own, packed), place as usize);
        }
        Place::Before(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    fn tree(entries: &[(u64, u64)]) -> (Vec<u8>, SlotTree) {
        let mut form = Vec::new();
        lay("test", entries, |keys| 2 * keys as u32, &mut form).unwrap();
        let tree = SlotTree::open(&mut Reader::new("test", &form)).unwrap();
        (form, tree)
    }

    #[test]
    fn any_number_is_found_in_order() {
        let mut random = SplitMix64::new(14);
        for round in 0..2_000u64 {
            let len = 1 + random.below(200);
            let bits = random.below(60);
            let mut numbers: Vec<u64> = (0..len)
                .map(|i| match round % 4 {
                    0 => random.next_u64() >> bits,
                    1 => u64::MAX - (random.next_u64() >> bits),
                    2 => (1 << (i % 64)) + random.below(3),
                    _ => (1 << 63) - 100 + random.below(200),
                })
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            // Ranks with gaps, as if numbers had several keys.
            let entries: Vec<_> = numbers.iter().zip(0..).map(|(n, i)| (*n, 3 * i)).collect();
            let (form, tree) = tree(&entries);
            let near = numbers
                .iter()
                .flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]);
            for number in near.chain([0, u64::MAX, random.next_u64()]) {
                let place = numbers.partition_point(|other| *other < number);
                let found = tree.find(&form, number);
                let expected = [
                    Place::Before(3 * place as u64),
                    Place::After((3 * place as u64).saturating_sub(3)),
                ];
                match numbers.get(place) == Some(&number) {
                    true => assert_eq!(found, Place::At(3 * place as u64)),
                    // After the last number only the one before it is known.
                    false if place == numbers.len() => assert_eq!(found, expected[1]),
                    false if place == 0 => assert_eq!(found, expected[0]),
                    false => assert!(expected.contains(&found), "{found:?} {expected:?}"),
                }
            }
        }
    }

    #[test]
    fn a_cycle_of_nodes_ends() {
        let (mut form, _) = tree(&[(5, 0)]);
        let packed = Model::splitting(0, 9, 1).pack();
        form[HEADER..].copy_from_slice(&record(0, 0, packed));
        let tree = SlotTree::open(&mut Reader::new("test", &form)).unwrap();
        assert_eq!(tree.find(&form, 5), Place::Before(0));
    }

    #[test]
    fn invalid_forms_are_refused() {
        let (form, _) = tree(&[(5, 0), (7, 1), (1 << 40, 2)]);
        for len in 0..form.len() {
            let cut = form.get(..len).unwrap();
            assert!(SlotTree::open(&mut Reader::new("test", cut)).is_err());
        }
        let longer = [form.as_slice(), &[0]].concat();
        assert!(SlotTree::open(&mut Reader::new("test", &longer)).is_err());
        for packed in [0, 0xffff_ff01, 0x3f80_00ff] {
            let mut damaged = form.clone();
            damaged[8..12].copy_from_slice(&u32::to_le_bytes(packed));
            let opened = SlotTree::open(&mut Reader::new("test", &damaged));
            assert!(opened.is_err(), "{packed:x}: {opened:?}");
        }
    }
}
