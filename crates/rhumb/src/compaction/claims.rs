//! Which tables and ranges of keys the running merges of a keyspace use.

use std::collections::HashSet;
use std::ops::Bound;

use super::job::Job;
use crate::entry::is_behind;

/// The claims of the running merges of one keyspace.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claims: Vec<Claim>,
    next: u64,
}

/// What one merge uses.
#[derive(Debug)]
struct Claim {
    id: u64,
    /// File numbers of its inputs.
    tables: HashSet<u64>,
    /// The bytes of its inputs, with their levels.
    bytes: Vec<(usize, u64)>,
    target_level: usize,
    /// Whether the merge creates a new run.
    new_run: bool,
    from: Box<[u8]>,
    to: Bound<Box<[u8]>>,
}

impl Claims {
    /// Whether a running merge uses the table.
    pub fn has(&self, number: u64) -> bool {
        self.claims.iter().any(|c| c.tables.contains(&number))
    }

    /// The bytes of the tables of a level that running merges use.
    pub fn bytes(&self, level: usize) -> u64 {
        let inputs = self.claims.iter().flat_map(|claim| &claim.bytes);
        let inputs = inputs.filter(|(of, _)| *of == level);
        inputs.map(|(_, bytes)| bytes).sum()
    }

    /// Whether no merge runs.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Whether a merge can run beside the running ones: it uses none of their tables, and its range
    /// of keys overlaps none that they write into the same level. New runs of a level are created
    /// one at a time, so that they are numbered by age.
    pub fn admits(&self, job: &Job) -> bool {
        let Some(hull) = job.hull() else {
            return true;
        };
        let new_run = job.target_run.is_none();
        self.claims.iter().all(|claim| {
            let to = claim.to.as_ref().map(|to| &**to);
            let apart = is_behind(hull.from, to) || is_behind(&claim.from, hull.to);
            let same_level = claim.target_level == job.target_level;
            let meets = same_level && (!apart || new_run || claim.new_run);
            let shares = job.tables().any(|t| claim.tables.contains(&t.meta.number));
            !meets && !shares
        })
    }

    /// Claims what a starting merge uses; returns the id with which to [release](Claims::release)
    /// it.
    pub fn take(&mut self, job: &Job) -> u64 {
        let (from, to) = match job.hull() {
            Some(hull) => (hull.from.into(), hull.to.map(Box::from)),
            None => (Box::default(), Bound::Excluded(Box::default())),
        };
        self.next += 1;
        self.claims.push(Claim {
            id: self.next,
            tables: job.tables().map(|t| t.meta.number).collect(),
            bytes: job
                .inputs
                .iter()
                .map(|i| (i.place.level, i.bytes()))
                .collect(),
            target_level: job.target_level,
            new_run: job.target_run.is_none(),
            from,
            to,
        });
        self.next
    }

    /// Drops the claim of a merge that ended.
    pub fn release(&mut self, id: u64) {
        self.claims.retain(|claim| claim.id != id);
    }
}
