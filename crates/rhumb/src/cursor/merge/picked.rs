//! Entries that are picked from runs together, where eight bytes of each key decide on the order.

use super::columns::{Runs, Step};
use crate::entry::Sequence;
use crate::error::Result;
use crate::table::BlockRun;

/// What takes the entries of runs that are merged.
pub(crate) trait TakesRuns {
    /// Takes the entry of a run. It is told whether the key may be that of the entry before.
    ///
    /// # Errors
    /// If it cannot be written.
    fn take(&mut self, run: &BlockRun, may_be_same: bool) -> Result<()>;

    /// How many entries it takes together, whose keys and whose values have these lengths; 0 if none.
    fn wanted(&self, sizes: (usize, usize)) -> usize;

    /// Takes all of these entries, which are at most as many as it wanted. Their keys differ, also from that of the entry before
    /// them.
    fn take_picked(&mut self, picked: &Picked<'_>);
}

/// Where an entry lies, and the head of its key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    run: usize,
    slot: usize,
    head: u64,
}

/// Entries in order. All keys have one length, and so have all values.
pub(crate) struct Picked<'a> {
    runs: &'a [(usize, BlockRun)],
    places: &'a [Place],
    /// What all keys begin with.
    prefix: &'a [u8],
    /// The lengths of each key and each value.
    sizes: (usize, usize),
}

impl Picked<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The lengths of each key and each value.
    pub fn sizes(&self) -> (usize, usize) {
        self.sizes
    }

    /// Appends the keys and the values to those of others.
    pub fn append_to(&self, keys: &mut Vec<u8>, values: &mut Vec<u8>) {
        let rest = self.sizes.0 - self.prefix.len();
        if self.prefix.is_empty() && rest == size_of::<u64>() {
            let words = self.places.iter().map(|place| place.head.to_be_bytes());
            words.for_each(|word| keys.extend_from_slice(&word));
        } else {
            for place in self.places {
                let head = place.head.to_be_bytes();
                keys.extend_from_slice(self.prefix);
                keys.extend_from_slice(head.get(..rest).unwrap_or(&head));
            }
        }
        for (run, place) in self.each() {
            run.append_value(place.slot, values);
        }
    }

    /// Their sequences.
    pub fn sequences(&self) -> impl Iterator<Item = Sequence> {
        self.each().map(|(run, place)| run.sequence_at(place.slot))
    }

    fn each(&self) -> impl Iterator<Item = (&BlockRun, &Place)> {
        let run_of = |place: &Place| self.runs.get(place.run);
        let places = self.places.iter();
        places.filter_map(move |place| Some((&run_of(place)?.1, place)))
    }
}

impl Runs {
    /// The lengths of all keys and of all values, if heads decide on the order of entries.
    pub(super) fn decided_by_heads(&self) -> Option<(usize, usize)> {
        let (_, first) = self.runs.first()?;
        let sizes = first.sizes();
        let alike = |(_, run): &(usize, BlockRun)| !run.is_copied() && run.sizes() == sizes;
        let decide = sizes.0 <= first.left_out() + size_of::<u64>() && self.runs.iter().all(alike);
        decide.then_some(sizes)
    }

    /// Passes up to `most` entries together behind that whose key has the head `last`, if there are such.
    #[inline]
    pub(super) fn pass_picked(
        &mut self,
        last: u64,
        most: u64,
        takes: &mut impl TakesRuns,
    ) -> Option<Step> {
        let sizes = self.decided?;
        let wanted = takes.wanted(sizes) as u64;
        if wanted == 0 {
            return None;
        }
        let ended = self.pick(last, wanted.min(most) as usize);
        let last = self.places.last()?.head;
        takes.take_picked(&self.picked(sizes));
        Some(Step {
            count: self.places.len() as u64,
            last,
            ended,
        })
    }

    /// Picks up to `most` entries behind that whose key has the head `last`: as long as no two have one key, and none reaches the
    /// limit. Returns the run that has come to its end, if one has.
    fn pick(&mut self, mut last: u64, most: usize) -> Option<usize> {
        self.places.clear();
        loop {
            let (at, mut head, next) = self.two_least()?;
            let (_, run) = self.runs.get_mut(at)?;
            // As many as come before those of other runs.
            while next.is_none_or(|next| head < next) {
                let is_limited = self.limit.is_some_and(|limit| head >= limit);
                if self.places.len() >= most || head == last || is_limited {
                    return None;
                }
                let slot = run.slot();
                self.places.push(Place {
                    run: at,
                    slot,
                    head,
                });
                if !run.step() {
                    return Some(at);
                }
                last = head;
                head = run.head();
                *self.heads.get_mut(at)? = head;
            }
            if next == Some(head) {
                // Which of the two comes first, heads do not tell.
                return None;
            }
        }
    }

    /// What was picked; the lengths of keys and values are given.
    fn picked(&self, sizes: (usize, usize)) -> Picked<'_> {
        let first = self.runs.first().map(|(_, run)| run);
        let prefix = first.and_then(|run| run.prefix().get(..run.left_out()));
        Picked {
            runs: &self.runs,
            places: &self.places,
            prefix: prefix.unwrap_or_default(),
            sizes,
        }
    }
}
