//! Which tables and ranges of keys the running merges of a keyspace have taken.

use std::collections::HashSet;
use std::ops::Bound;

use super::job::Job;
use crate::entry::is_behind;

/// The claims of the merges of one keyspace that run now.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claims: Vec<Claim>,
    next: u64,
}

/// What one merge has taken.
#[derive(Debug)]
struct Claim {
    id: u64,
    /// File numbers of its inputs.
    tables: HashSet<u64>,
    target_level: usize,
    /// Whether it makes a run of its own, of whatever keys.
    new_run: bool,
    from: Box<[u8]>,
    to: Bound<Box<[u8]>>,
}

impl Claims {
    /// Whether a running merge has the table.
    pub fn has(&self, number: u64) -> bool {
        self.claims.iter().any(|c| c.tables.contains(&number))
    }

    /// Whether no merge runs.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Whether a merge can run beside those that do: it takes none of their tables, and does not
    /// write keys into a level where they write neighbours. New runs of a level are made one at a
    /// time, so that they are numbered by age.
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

    /// Notes a merge that begins; gives the number by which it is [released](Claims::release).
    pub fn take(&mut self, job: &Job) -> u64 {
        let (from, to) = match job.hull() {
            Some(hull) => (hull.from.into(), hull.to.map(Box::from)),
            None => (Box::default(), Bound::Excluded(Box::default())),
        };
        self.next += 1;
        self.claims.push(Claim {
            id: self.next,
            tables: job.tables().map(|t| t.meta.number).collect(),
            target_level: job.target_level,
            new_run: job.target_run.is_none(),
            from,
            to,
        });
        self.next
    }

    /// Notes that a merge ended.
    pub fn release(&mut self, id: u64) {
        self.claims.retain(|claim| claim.id != id);
    }
}
