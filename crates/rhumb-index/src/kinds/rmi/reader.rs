//! Answers look-ups from the byte form, in place.

use super::leaf::{LEAF, Leaf};
use super::root::Root;
use super::{BOUNDARY, KIND};
use crate::bytes::{Reader, u32_of, u64_of};
use crate::kind::HEADER;
use crate::kinds::shared::gallop::first_about;
use crate::{ByteForm, Index, IndexError, Position, Probe, Window};

/// Offset of the leaves.
pub(super) const LEAVES_AT: usize = HEADER + 60;

/// A root and its leaves, read from the byte form.
#[derive(Debug)]
pub(super) struct Rmi<'a> {
    bytes: ByteForm<'a>,
    root: Root,
    keys: u64,
    widest: u64,
}

impl<'a> Rmi<'a> {
    pub(super) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(HEADER)?;
        let leaves = reader.length()?;
        let keys = reader.keys(leaves)?;
        let start = reader.u64()?;
        let factors = [(); 4].map(|()| reader.u64().map(f64::from_bits));
        let [scale, c1, c2, c3] = factors;
        let (scale, curve) = (scale?, [c1?, c2?, c3?]);
        let boundary = u64::from(reader.u32()?);
        let first_leaf = reader.u8()?;
        let promise = boundary == 0 || (BOUNDARY.min..=BOUNDARY.max).contains(&boundary);
        let finite = scale.is_finite() && curve.iter().all(|factor| factor.is_finite());
        if !promise || first_leaf > 1 || !finite {
            let expected = "finite factors, a boundary of 0 or 4 to 1024, a first leaf of 0 or 1";
            let found = format!("{scale}, {curve:?}, {boundary} and {first_leaf}");
            return Err(reader.damaged(expected, found));
        }
        reader.reserved(3)?;
        reader.take(leaves.saturating_mul(LEAF))?;
        reader.end()?;
        let root = Root {
            start,
            scale,
            curve,
            first_leaf,
            leaves,
        };
        let mut rmi = Rmi {
            bytes,
            root,
            keys,
            widest: 0,
        };
        rmi.check(boundary)?;
        Ok(rmi)
    }

    /// The byte form.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks every leaf and notes the widest window, which is derived from the leaves instead of
    /// stored.
    fn check(&mut self, boundary: u64) -> Result<(), IndexError> {
        // A window is at most twice as wide as its leaf has keys; it is clamped to the table.
        let (most, most_stored) = match boundary {
            0 => (self.keys, 2 * self.keys),
            boundary => (boundary, boundary),
        };
        let leaves = self.leaves();
        let mut widest = 0;
        for (i, leaf) in leaves.iter().map(Leaf::from_bytes).enumerate() {
            let next = leaves.get(i + 1).map(Leaf::from_bytes);
            let keys = self.end_of(leaves, i).checked_sub(leaf.first_rank.into());
            let empty = next.is_some_and(|next| next.base == leaf.base);
            let sound = (i > 0 || leaf.first_rank == 0)
                && next.is_none_or(|next| leaf.base <= next.base)
                && keys.is_some_and(|keys| (keys == 0) == empty)
                && leaf.slope.is_finite()
                && leaf.slope >= 0.0
                && (leaf.width == 0) == empty
                && u64::from(leaf.width) <= most_stored;
            if !sound {
                let expected = format!(
                    "leaf {i} of {}: ascending ranks and numbers, a finite slope that is not \
                     negative, a window of at most {most_stored}",
                    leaves.len()
                );
                let found = format!("{leaf:?}");
                return Err(KIND.damaged(LEAVES_AT + i * LEAF, expected, found));
            }
            widest = widest.max(u64::from(leaf.width).min(most));
        }
        self.widest = widest;
        Ok(())
    }

    #[inline]
    fn leaves(&self) -> &[[u8; LEAF]] {
        self.bytes
            .get(LEAVES_AT..)
            .unwrap_or_default()
            .as_chunks()
            .0
    }

    /// The end of a leaf's ranks: the next leaf's first rank, or the number of keys.
    #[inline]
    fn end_of(&self, leaves: &[[u8; LEAF]], i: usize) -> u64 {
        leaves
            .get(i + 1)
            .map_or(self.keys, |next| u32_of(next, 2).into())
    }

    /// The leaf that holds a number, and the predicted rank; `None` without keys.
    #[inline]
    fn find(&self, number: u64) -> Option<(Leaf, u64)> {
        let leaves = self.leaves();
        let mut i = self.root.guess(number);
        let mut leaf = leaves.get(i)?;
        if base_of(leaf) > number
            || leaves
                .get(i + 1)
                .is_some_and(|next| base_of(next) <= number)
        {
            i = walk(leaves, i, number);
            leaf = leaves.get(i)?;
        }
        let leaf = Leaf::from_bytes(leaf);
        Some((leaf, leaf.predict(number, self.end_of(leaves, i))))
    }
}

#[inline]
fn base_of(leaf: &[u8; LEAF]) -> u64 {
    u64_of(leaf, 0)
}

/// The last leaf whose base is not above the number, or the first leaf, in about twice the
/// logarithm of the distance from `from`.
///
/// Stored keys are found without this walk. Other numbers may be predicted to be in an empty leaf,
/// or lie between the last number of a leaf and the first of the next.
#[cold]
fn walk(leaves: &[[u8; LEAF]], from: usize, number: u64) -> usize {
    let is_not_above = |i: usize| leaves.get(i).is_some_and(|leaf| base_of(leaf) <= number);
    first_about(leaves.len(), from, 1, is_not_above).saturating_sub(1)
}

impl Index for Rmi<'_> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        Position::Window(self.window(probe.number))
    }

    fn window(&self, number: u64) -> Window {
        let Some((leaf, predicted)) = self.find(number) else {
            return Window { lo: 0, hi: 0 };
        };
        let width = u64::from(leaf.width);
        Window {
            lo: predicted.saturating_sub(width / 2),
            hi: (predicted + width.div_ceil(2)).min(self.keys),
        }
    }

    fn predict(&self, number: u64) -> Option<u64> {
        Some(self.find(number)?.1)
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.widest
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Look-ups succeed even with a root whose predictions are wrong.
    #[test]
    fn windows_do_not_depend_on_the_root() {
        let keys: Vec<u64> = (0..3000u64).map(|i| i * i * i + i % 7 * i).collect();
        let mut builder = (KIND.builder)(&registry::settings("rmi:leaves=500"));
        keys.iter()
            .for_each(|key| builder.push(&key.to_be_bytes(), *key).unwrap());
        let sound = builder.finish().unwrap();
        for (scale, c1, c3) in [
            (0.0, 0.0, 0.0),
            (1.0, 1.0, 0.0),
            (1e-10, 9.0, 7.0),
            (1e-9, -5.0, 1.0),
        ] {
            let mut bytes = sound.clone();
            for (at, factor) in [(24, scale), (32, c1), (48, c3)] {
                bytes[at..at + 8].copy_from_slice(&f64::to_le_bytes(factor));
            }
            let rmi = Rmi::open(bytes.into()).unwrap();
            for number in keys
                .iter()
                .flat_map(|key| [key.saturating_sub(1), *key, key + 1])
            {
                let rank = keys.partition_point(|key| *key < number) as u64;
                let present = keys.get(rank as usize) == Some(&number);
                let position = rmi.locate(Probe { key: &[], number });
                let Position::Window(window) = position else {
                    panic!("{position:?}")
                };
                let end = window.hi + u64::from(!present);
                assert!(
                    window.lo <= rank && rank < end,
                    "{number}: {window:?}, not {rank}"
                );
            }
        }
    }

    #[test]
    fn walks_end_at_the_leaf_from_every_start() {
        // Bases 10, 20, 20, 20, 30, ...: two empty leaves before the fourth.
        let bases = [10u64, 20, 20, 20, 30, 40, 40, 50, u64::MAX];
        let leaves = bases.map(|base| {
            let mut leaf = [0; LEAF];
            leaf[..8].copy_from_slice(&base.to_le_bytes());
            leaf
        });
        for number in [10, 11, 19, 20, 29, 30, 39, 40, 41, 50, 51, u64::MAX] {
            let wanted = bases.iter().rposition(|base| *base <= number).unwrap();
            for from in 0..bases.len() {
                assert_eq!(walk(&leaves, from, number), wanted, "{number} from {from}");
            }
        }
        assert_eq!(walk(&leaves, 5, 3), 0);
    }
}
