//! Which tables and ranges of keys the running merges of a keyspace use.

use std::collections::HashSet;
use std::ops::Bound;

use super::job::{Hull, Job};
use crate::entry::is_behind;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::version::TableMeta;

/// The claims of the running merges of one keyspace, and of the tables that are being put into levels.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claims: Vec<Claim>,
    next: u64,
}

/// What one merge, or one table that is being put into a level, uses.
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
    /// The bytes of values that it writes a second time, while they stay where they are until others are gone, too.
    copies: u64,
    /// Set when the merge should end early; `None` if it must not.
    given_up: Option<Arc<AtomicBool>>,
}

impl Claim {
    /// Whether it keeps others from writing a range of keys, or a new run, into a level.
    fn meets(&self, level: usize, hull: Hull<'_>, new_run: bool) -> bool {
        let to = self.to.as_ref().map(|to| &**to);
        let apart = is_behind(hull.from, to) || is_behind(&self.from, hull.to);
        self.target_level == level && (!apart || new_run || self.new_run)
    }
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

    /// Notes how many bytes of values a merge writes a second time.
    pub fn note_copies(&mut self, id: u64, bytes: u64) {
        if let Some(claim) = self.claim(id) {
            claim.copies = bytes;
        }
    }

    /// The bytes of values that running merges write a second time.
    pub fn copies(&self) -> u64 {
        self.claims.iter().map(|claim| claim.copies).sum()
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
            let shares = job.tables().any(|t| claim.tables.contains(&t.meta.number));
            !shares && !claim.meets(job.target_level, hull, new_run)
        })
    }

    /// Whether a table of this range of keys can be put into a level: no running merge writes keys of the
    /// range, or a new run, into it.
    pub fn admits_at(&self, level: usize, hull: Hull<'_>) -> bool {
        self.claims
            .iter()
            .all(|claim| !claim.meets(level, hull, false))
    }

    /// Claims a table that is being put into a level, and its place there, as a merge that reads and writes it
    /// would; returns the id with which to [release](Claims::release) it.
    pub fn take_place(&mut self, level: usize, table: &TableMeta) -> u64 {
        self.add(Claim {
            id: 0,
            tables: HashSet::from([table.number]),
            bytes: Vec::new(),
            target_level: level,
            new_run: false,
            from: table.smallest.clone(),
            to: table.end().map(Box::from),
            copies: 0,
            given_up: None,
        })
    }

    /// Claims what a starting merge uses; returns the id with which to [release](Claims::release)
    /// it.
    pub fn take(&mut self, job: &Job) -> u64 {
        let (from, to) = match job.hull() {
            Some(hull) => (hull.from.into(), hull.to.map(Box::from)),
            None => (Box::default(), Bound::Excluded(Box::default())),
        };
        self.add(Claim {
            id: 0,
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
            copies: 0,
            given_up: None,
        })
    }

    /// Lets a merge [be given up](Claims::give_up_parts_of): `given_up` is set then.
    pub fn allow_to_give_up(&mut self, id: u64, given_up: &Arc<AtomicBool>) {
        if let Some(claim) = self.claim(id) {
            claim.given_up = Some(Arc::clone(given_up));
        }
    }

    /// Asks running merges to end early of which a job takes all tables and more: after them it would write anew
    /// whatever they write.
    pub fn give_up_parts_of(&self, job: &Job) {
        let tables: HashSet<u64> = job.tables().map(|t| t.meta.number).collect();
        let parts = self
            .claims
            .iter()
            .filter(|claim| claim.tables.len() < tables.len() && claim.tables.is_subset(&tables));
        for given_up in parts.filter_map(|claim| claim.given_up.as_ref()) {
            given_up.store(true, Ordering::Relaxed);
        }
    }

    fn claim(&mut self, id: u64) -> Option<&mut Claim> {
        self.claims.iter_mut().find(|claim| claim.id == id)
    }

    fn add(&mut self, claim: Claim) -> u64 {
        self.next += 1;
        let id = self.next;
        self.claims.push(Claim { id, ..claim });
        id
    }

    /// Drops the claim of a merge that ended.
    pub fn release(&mut self, id: u64) {
        self.claims.retain(|claim| claim.id != id);
    }
}
