//! Collects the numbers, 8 bytes a key, and trains the model at the end.

use super::choose::{Aim, Roots, choose};
use super::lay::{Search, lay, most_leaves};
use super::leaf::{LEAF, Leaf};
use super::points::Points;
use super::reader::LEAVES_AT;
use super::root::Root;
use super::{BOUNDARY, KIND, LEAVES, ROOT};
use crate::kinds::shared::runs::Runs;
use crate::knob::Settings;
use crate::{IndexBuilder, IndexError};

#[derive(Debug)]
pub(super) struct RmiBuilder {
    /// The position boundary, unless the number of leaves is given.
    boundary: Option<u64>,
    /// The number of leaves, or 0 for as many as the boundary takes.
    leaves: usize,
    roots: Roots,
    runs: Runs,
    points: Points,
}

impl RmiBuilder {
    pub(super) fn new(settings: &Settings) -> Self {
        let leaves = LEAVES.of(settings) as usize;
        let boundary = (leaves == 0).then(|| BOUNDARY.of(settings));
        RmiBuilder {
            boundary,
            leaves,
            roots: match ROOT.of(settings) {
                0 => Roots::Both,
                1 => Roots::Linear,
                _ => Roots::Cubic,
            },
            // Without a boundary no run is too long.
            runs: Runs::new(boundary.unwrap_or(u64::MAX)),
            points: Points::default(),
        }
    }

    /// A model with the given number of leaves, or with one for each number if there are fewer
    /// numbers.
    fn train(&self) -> Option<(Root, Vec<Leaf>)> {
        let numbers = self.points.numbers();
        let leaves = self.leaves.min(numbers.len());
        let shapes = choose(numbers, leaves, self.roots, Aim::Average);
        let root = shapes.first()?.over(leaves);
        Some((root, lay(&self.points, &root, None).ok()?))
    }

    /// A model that keeps the boundary, if there is one.
    fn train_within(&self, boundary: u64) -> Option<(Root, Vec<Leaf>)> {
        let most = most_leaves(&self.points);
        // Roots that leave no numbers out first; if none works, one that leaves some out may.
        let shapes = [Aim::Worst, Aim::Average]
            .into_iter()
            .flat_map(|aim| choose(self.points.numbers(), most, self.roots, aim));
        let mut searches = shapes.map(|shape| Search::new(&self.points, shape, boundary));
        searches.find_map(Search::run)
    }

    fn leaves_run_out(&self) -> IndexError {
        let (most, keys) = (most_leaves(&self.points), self.points.keys());
        IndexError::Unfit {
            kind: KIND.name,
            why: format!(
                "{most} leaves, the most that are useful for {keys} keys, leave windows above the \
                 position boundary: raise it, set the number of leaves or use fp"
            ),
        }
    }
}

impl IndexBuilder for RmiBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        if let Some(run) = self.runs.push(key, number)? {
            self.points.add(run);
        }
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let ended = self.runs.push_numbers(numbers)?;
        if let Some(run) = ended.run {
            self.points.add(run);
        }
        self.points.extend(ended.first_rank, ended.plain);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        if let Some(run) = self.runs.end() {
            self.points.add(run);
        }
        let runs = std::mem::replace(&mut self.runs, Runs::new(BOUNDARY.default));
        self.points.end(runs.finish(KIND.name)?);
        let trained = match self.boundary {
            _ if self.points.keys() == 0 => Some((Root::default(), Vec::new())),
            None => self.train(),
            Some(boundary) => self.train_within(boundary),
        };
        let (root, leaves) = trained.ok_or_else(|| self.leaves_run_out())?;
        Ok(encode(&root, &leaves, self.points.keys(), self.boundary))
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit()
    }
}

/// The byte form: a header, then all leaves.
fn encode(root: &Root, leaves: &[Leaf], keys: u64, boundary: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(LEAVES_AT + leaves.len() * LEAF);
    out.extend(KIND.header());
    out.extend((leaves.len() as u32).to_le_bytes());
    out.extend(keys.to_le_bytes());
    out.extend(root.start.to_le_bytes());
    out.extend(root.scale.to_le_bytes());
    out.extend(root.curve.map(f64::to_le_bytes).as_flattened());
    out.extend((boundary.unwrap_or(0) as u32).to_le_bytes());
    out.extend([root.first_leaf, 0, 0, 0]);
    for leaf in leaves {
        out.extend(leaf.to_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use crate::registry;

    fn builder(spec: &str) -> Box<RmiBuilder> {
        Box::new(RmiBuilder::new(&registry::settings(spec)))
    }

    #[test]
    fn bulk_pushes_give_the_same_bytes_as_single_pushes() {
        let numbers: Vec<u64> = (0..5000).map(|i| i * i).collect();
        for spec in ["rmi:boundary=64", "rmi:leaves=100"] {
            let (mut one, mut many) = (builder(spec), builder(spec));
            for number in &numbers {
                one.push(&number.to_be_bytes(), *number).unwrap();
            }
            let (first, rest) = numbers.split_at(1);
            for part in [first, &[]].into_iter().chain(rest.chunks(777)) {
                many.push_numbers(part).unwrap();
            }
            assert_eq!(one.finish().unwrap(), many.finish().unwrap());
        }
    }

    #[test]
    fn errors_tell_the_rank_of_an_unsorted_number() {
        let unsorted = |numbers: &[u64]| {
            let mut builder = builder("rmi");
            builder.push_numbers(&[1, 5]).unwrap();
            match builder.push_numbers(numbers) {
                Err(IndexError::Unsorted { rank }) => Some(rank),
                _ => None,
            }
        };
        assert_eq!(unsorted(&[6, 7, 7]), Some(4));
        assert_eq!(unsorted(&[6, 9, 8, 10]), Some(4));
        assert_eq!((unsorted(&[5]), unsorted(&[4, 9])), (Some(2), Some(2)));
        assert_eq!((unsorted(&[6]), unsorted(&[])), (None, None));
        let mut builder = builder("rmi");
        builder.push(b"b", 7).unwrap();
        assert!(builder.push(b"c", 6).is_err() && builder.push(b"b", 7).is_err());
    }

    #[test]
    fn long_runs_are_unfit_only_with_a_boundary() {
        let with_run = |spec: &str, keys: u32| {
            let mut builder = builder(spec);
            for key in 0..keys {
                builder.push(&key.to_be_bytes(), 9).unwrap();
            }
            let unfit = builder.is_unfit();
            builder.push_numbers(&[1 << 62, 1 << 63]).unwrap();
            (unfit, builder.finish().map(drop))
        };
        assert_eq!(with_run("rmi:boundary=8", 5), (false, Ok(())));
        let (unfit, finished) = with_run("rmi:boundary=8", 6);
        assert!(
            unfit && matches!(finished, Err(IndexError::Unfit { .. })),
            "{finished:?}"
        );
        assert_eq!(with_run("rmi:leaves=4", 3000), (false, Ok(())));
    }

    #[test]
    fn bulk_pushes_may_follow_a_shorter_key() {
        let keys: [&[u8]; 4] = [&[1; 7], &[1, 1, 1, 1, 1, 1, 1, 0], &[2; 8], &[3; 8]];
        let numbers = keys.map(|key| {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        });
        let (mut one, mut many) = (builder("rmi"), builder("rmi"));
        for (key, number) in keys.into_iter().zip(numbers) {
            one.push(key, number).unwrap();
        }
        many.push(keys[0], numbers[0]).unwrap();
        many.push_numbers(&numbers[1..]).unwrap();
        assert_eq!(one.finish().unwrap(), many.finish().unwrap());
    }

    /// Random numbers from `base` on, and those that are far from them.
    fn numbers_and_outliers(
        count: u64,
        base: u64,
        outliers: impl Iterator<Item = u64>,
    ) -> Vec<u64> {
        let mut random = SplitMix64::new(11);
        let close = (0..count).map(|_| base + (random.next_u64() >> 24));
        let mut numbers: Vec<u64> = close.chain(outliers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    #[test]
    fn a_far_part_is_left_out_where_the_boundary_needs_it() {
        // One in 128, the most that are left out.
        let far = (1..=156u64).map(|i| u64::MAX - (i << 50));
        let mut builder = builder("rmi");
        let numbers = numbers_and_outliers(19_844, 0, far);
        assert_eq!(numbers.len(), 20_000);
        builder.push_numbers(&numbers).unwrap();
        assert!(builder.finish().is_ok());
    }

    #[test]
    fn a_single_outlier_below_is_left_out_alone() {
        let mut builder = builder("rmi");
        let numbers = numbers_and_outliers(9_000, 1 << 63, [0].into_iter());
        builder.push_numbers(&numbers).unwrap();
        let form = builder.finish().unwrap();
        // Where the root starts, and the leaf it starts with.
        assert_eq!(form[16..24], numbers[1].to_le_bytes());
        assert_eq!(form[60], 1);
    }
}
