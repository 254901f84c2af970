//! Merges as threads in the background would do them.

use std::ops::Bound;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::fixture::{Store, random_parts};
use crate::compaction::{
    Claims, Draining, Job, Outcome, Parts, full_levels, pick_conversion, pick_level, pick_stack,
    pick_step, pick_whole,
};
use crate::options::{self, Compaction};
use crate::version::{LEVELS, Levels};

/// The most urgent job of some levels that can run beside those in `claims`.
pub(super) fn pick(levels: &Levels, options: &options::Levels, claims: &Claims) -> Option<Job> {
    pick_draining(levels, options, claims, &mut Draining::default())
}

fn pick_draining(
    levels: &Levels,
    options: &options::Levels,
    claims: &Claims,
    draining: &mut Draining,
) -> Option<Job> {
    let full = full_levels(levels, options, u32::MAX, claims, draining);
    full.into_iter()
        .find_map(|(level, _)| pick_level(levels, options, level, claims))
}

/// Merges that run beside writes, flushes and each other, and end in any order. A merge reads and
/// writes when it begins, and is installed when it ends.
#[derive(Default)]
pub(super) struct Background {
    claims: Claims,
    draining: Draining,
    running: Vec<(u64, Outcome)>,
    /// How many merges began while others ran.
    pub(super) beside: usize,
}

impl Background {
    /// Flushes beside the running merges: where there are no range deletes and `shape` allows it, in parts, and
    /// as deep as tables can go.
    pub(super) fn flush(&self, store: &mut Store, random: &mut StdRng, shape: &options::Levels) {
        if shape.compaction != Compaction::Leveled {
            return store.flush().unwrap();
        }
        let parts = match store.memtable.range_deletes() {
            None if random.random_bool(0.8) => random_parts(random),
            _ => Parts::whole(),
        };
        store.flush_parts(&parts, Some(&self.claims)).unwrap();
    }

    /// Begins and ends some merges.
    pub(super) fn work(&mut self, store: &mut Store, random: &mut StdRng, shape: &options::Levels) {
        for _ in 0..random.random_range(0..10) {
            let begins = self.running.len() < 3 && random.random_bool(0.7);
            if !(begins && self.begin(store, shape)) {
                self.end_one(store, random);
            }
        }
    }

    fn begin(&mut self, store: &Store, shape: &options::Levels) -> bool {
        let picked = pick_draining(&store.levels, shape, &self.claims, &mut self.draining);
        let Some(job) = picked else {
            return false;
        };
        if !job.trivial {
            self.draining.note_merge(job.target_level);
        }
        self.beside += usize::from(!self.running.is_empty());
        let outcome = store.run(&job).unwrap();
        self.running.push((self.claims.take(&job), outcome));
        true
    }

    fn end_one(&mut self, store: &mut Store, random: &mut StdRng) {
        if !self.running.is_empty() {
            let which = random.random_range(0..self.running.len());
            let (claim, outcome) = self.running.swap_remove(which);
            store.install(&outcome);
            self.claims.release(claim);
        }
    }

    pub(super) fn end_all(&mut self, store: &mut Store, random: &mut StdRng) {
        while !self.running.is_empty() {
            self.end_one(store, random);
        }
    }

    /// Compacts a range beside the running merges, and ends those that are in the way.
    pub(super) fn compact_range(
        &mut self,
        store: &mut Store,
        random: &mut StdRng,
        shape: Compaction,
        (from, to): (&[u8], Bound<&[u8]>),
    ) {
        let before = store.files.next_number();
        if let Some(tier) = shape.tier() {
            let stack = |store: &Store| pick_stack(&store.levels, tier, (from, to), before);
            while self.run_asked(store, random, stack).is_some() {}
            let mut next = Some(from.to_vec());
            while let Some(from) = next {
                let convert = |store: &Store| pick_conversion(&store.levels, tier, (&from, to));
                let converted = self.run_asked(store, random, convert);
                next = converted.and_then(|job| job.hull()?.next_key());
            }
            return;
        }
        let whole = |store: &Store| pick_whole(&store.levels, shape, from, to, before);
        if self.run_asked(store, random, whole).is_some() || shape != Compaction::Leveled {
            return;
        }
        for level in 0..LEVELS {
            let step = |store: &Store| pick_step(&store.levels, from, to, level, before);
            while self.run_asked(store, random, step).is_some() {}
        }
    }

    /// Runs the job that `pick` chooses, after ending the merges in its way, and returns it.
    fn run_asked(
        &mut self,
        store: &mut Store,
        random: &mut StdRng,
        pick: impl Fn(&Store) -> Option<Job>,
    ) -> Option<Job> {
        while let Some(job) = pick(store) {
            if self.claims.admits(&job) {
                let outcome = store.run(&job).unwrap();
                store.install(&outcome);
                return Some(job);
            }
            self.end_one(store, random);
        }
        None
    }
}

/// Compacts a range while no other merge runs.
pub(super) fn compact_range(store: &mut Store, shape: Compaction, from: &[u8], to: Bound<&[u8]>) {
    let mut random = StdRng::seed_from_u64(0);
    Background::default().compact_range(store, &mut random, shape, (from, to));
}
