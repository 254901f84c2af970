//! Collects the numbers, 8 bytes a key, and trains the model at the end, which closes its only
//! segment. Predictions before the table ends are those of the reader of the finished byte form.

use super::choose::{Aim, Roots, choose};
use super::lay::{Limit, Search, lay, most_leaves};
use super::leaf::{LEAF, Leaf};
use super::points::Points;
use super::reader::{LEAVES_AT, Rmi};
use super::root::Root;
use super::{BOUNDARY, KIND, LEAVES, ROOT, WITHIN};
use crate::kinds::shared::runs::{Ended, Runs};
use crate::knob::Settings;
use crate::{ClosedSegment, Index, IndexBuilder, IndexError};

/// Why keys behind the closed segment are unfit.
const KEYS_BEHIND: &str = "keys follow its only segment: close it at the end of the table";

/// What determines the number of leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    /// The specification.
    Given(usize),
    /// The windows of this share of the keys, in percent, keep the position boundary.
    Within { boundary: u64, percent: u64 },
}

impl Size {
    fn of(settings: &Settings) -> Size {
        match LEAVES.of(settings) {
            0 => Size::Within {
                boundary: BOUNDARY.of(settings),
                percent: WITHIN.of(settings),
            },
            leaves => Size::Given(leaves as usize),
        }
    }

    /// The position boundary that every window keeps, if there is one.
    fn promise(self) -> Option<u64> {
        match self {
            Size::Within {
                boundary,
                percent: 100..,
            } => Some(boundary),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct RmiBuilder {
    size: Size,
    roots: Roots,
    runs: Runs,
    /// What the model is trained on; empty after that.
    points: Points,
    /// The model, once the segment is closed.
    model: Option<Rmi<'static>>,
    /// Whether the closed segment was given out.
    taken: bool,
}

impl RmiBuilder {
    pub(super) fn new(settings: &Settings) -> Self {
        let size = Size::of(settings);
        RmiBuilder {
            size,
            roots: match ROOT.of(settings) {
                0 => Roots::Both,
                1 => Roots::Linear,
                _ => Roots::Cubic,
            },
            // Without a promise no run is too long.
            runs: Runs::new(size.promise().unwrap_or(u64::MAX)),
            points: Points::default(),
            model: None,
            taken: false,
        }
    }

    /// Adds the runs that a push of so many keys ended.
    fn add(&mut self, keys: usize, ended: Ended<'_>) {
        if self.model.is_some() && keys > 0 {
            self.runs.give_up(KEYS_BEHIND);
        }
        if let Some(run) = ended.run {
            self.points.add(run);
        }
        self.points.extend(ended.first_rank, ended.plain);
    }

    /// Trains the model and returns its byte form. The keys are unfit if there is none.
    fn form(&mut self) -> Option<Vec<u8>> {
        if let Some(run) = self.runs.end() {
            self.points.add(run);
        }
        self.points.end(self.runs.keys());
        let trained = self.train();
        let points = std::mem::take(&mut self.points);
        let Some((root, leaves)) = trained else {
            self.runs.give_up(leaves_run_out(&points));
            return None;
        };
        Some(encode(&root, &leaves, points.keys(), self.size.promise()))
    }

    fn train(&self) -> Option<(Root, Vec<Leaf>)> {
        match self.size {
            _ if self.points.keys() == 0 => Some((Root::default(), Vec::new())),
            Size::Given(leaves) => self.train_with(leaves),
            Size::Within { boundary, percent } => self.train_within(Limit {
                width: boundary,
                spare: self.points.keys() * 100u64.saturating_sub(percent) / 100,
            }),
        }
    }

    /// A model with the given number of leaves, or with one for each number if there are fewer
    /// numbers.
    fn train_with(&self, leaves: usize) -> Option<(Root, Vec<Leaf>)> {
        let numbers = self.points.numbers();
        let leaves = leaves.min(numbers.len());
        let shapes = choose(numbers, leaves, self.roots, Aim::Average);
        let root = shapes.first()?.over(leaves);
        Some((root, lay(&self.points, &root, Limit::NONE).ok()?))
    }

    /// A model whose windows keep the limit, if there is one.
    fn train_within(&self, limit: Limit) -> Option<(Root, Vec<Leaf>)> {
        let most = most_leaves(&self.points);
        // If every window must keep the limit, roots that leave no numbers out come first; if none
        // works, one that leaves some out may.
        let mut aims = [Aim::Worst, Aim::Average];
        if limit.spare > 0 {
            aims.reverse();
        }
        let shapes = aims
            .into_iter()
            .flat_map(|aim| choose(self.points.numbers(), most, self.roots, aim));
        let mut searches = shapes.map(|shape| Search::new(&self.points, shape, limit));
        searches.find_map(Search::run)
    }
}

/// Why the keys are unfit if no model keeps the boundary.
fn leaves_run_out(points: &Points) -> String {
    let (most, keys) = (most_leaves(points), points.keys());
    format!(
        "{most} leaves, the most for {keys} keys, leave too many windows above the position \
         boundary: raise it, lower within, set the number of leaves or use fp"
    )
}

impl IndexBuilder for RmiBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        let run = self.runs.push(key, number)?;
        let ended = Ended {
            run,
            ..Ended::default()
        };
        self.add(1, ended);
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let ended = self.runs.push_numbers(numbers)?;
        self.add(numbers.len(), ended);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.runs.trust_order();
    }

    fn closes_once(&self) -> bool {
        true
    }

    fn close_segment(&mut self) {
        if self.model.is_some() || self.runs.is_unfit() || self.runs.keys() == 0 {
            return;
        }
        let form = self.form();
        match form.map(|form| Rmi::open(form.into())) {
            Some(Ok(model)) => self.model = Some(model),
            Some(Err(error)) => self.runs.give_up(error.to_string()),
            None => {}
        }
    }

    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        if let Some(model) = self.model.as_ref().filter(|_| !self.taken) {
            closed.push(ClosedSegment {
                first_rank: 0,
                ranks: model.extent(),
            });
            self.taken = true;
        }
    }

    fn predict_closed(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        if let Some(model) = &self.model {
            predicted.extend(numbers.iter().filter_map(|number| model.predict(*number)));
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        let form = match &self.model {
            Some(model) => Some(model.bytes().to_vec()),
            None if self.runs.is_unfit() => None,
            None => self.form(),
        };
        self.runs.finish(KIND.name)?;
        Ok(form.unwrap_or_default())
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit()
    }
}

/// The byte form: a header, then all leaves. `boundary` is one that every window keeps.
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
        for spec in ["rmi:boundary=64", "rmi:within=100", "rmi:leaves=100"] {
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
    fn long_runs_are_unfit_only_with_a_promise() {
        let with_run = |spec: &str, keys: u32| {
            let mut builder = builder(spec);
            for key in 0..keys {
                builder.push(&key.to_be_bytes(), 9).unwrap();
            }
            let unfit = builder.is_unfit();
            builder.push_numbers(&[1 << 62, 1 << 63]).unwrap();
            (unfit, builder.finish().map(drop))
        };
        assert_eq!(with_run("rmi:boundary=8,within=100", 5), (false, Ok(())));
        let (unfit, finished) = with_run("rmi:boundary=8,within=100", 6);
        assert!(
            unfit && matches!(finished, Err(IndexError::Unfit { .. })),
            "{finished:?}"
        );
        assert_eq!(with_run("rmi:leaves=4", 3000), (false, Ok(())));
        // Without a promise the run may stand if it is a small enough share of the keys.
        assert_eq!(with_run("rmi:boundary=8,within=1", 6), (false, Ok(())));
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
        let mut builder = builder("rmi:within=100");
        let numbers = numbers_and_outliers(19_844, 0, far);
        assert_eq!(numbers.len(), 20_000);
        builder.push_numbers(&numbers).unwrap();
        assert!(builder.finish().is_ok());
    }

    #[test]
    fn a_single_outlier_below_is_left_out_alone() {
        let mut builder = builder("rmi:within=100");
        let numbers = numbers_and_outliers(9_000, 1 << 63, [0].into_iter());
        builder.push_numbers(&numbers).unwrap();
        let form = builder.finish().unwrap();
        // Where the root starts, and the leaf it starts with.
        assert_eq!(form[16..24], numbers[1].to_le_bytes());
        assert_eq!(form[60], 1);
    }
}
