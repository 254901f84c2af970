//! Where the tables of a flush go: as deep as nothing overlaps them, so that they need not be merged or
//! moved there later.

use super::scheduler::Scheduler;
use crate::compaction::{Outcome, place_newest};
use crate::db::store::{OpenKeyspace, Store};
use crate::options::Compaction;

/// The claims on the places of new tables. Dropping it releases them.
pub(super) struct Placement<'a> {
    scheduler: &'a Scheduler,
    keyspace: u32,
    claims: Vec<u64>,
}

impl Placement<'_> {
    /// The number of tables that go below level 0.
    pub(super) fn below_level0(&self) -> u64 {
        self.claims.len() as u64
    }
}

impl Drop for Placement<'_> {
    fn drop(&mut self) {
        if self.claims.is_empty() {
            return;
        }
        self.scheduler.change(self.keyspace, |jobs| {
            let claims = std::mem::take(&mut self.claims);
            claims.into_iter().for_each(|id| jobs.claims.release(id));
        });
        // A merge may have waited for one of these places.
        self.scheduler.signals.wake_all();
    }
}

impl Store {
    /// Chooses the places of the tables that a flush wrote, and claims them until the result is dropped,
    /// which must be after the tables are installed. Merges of whole levels or runs take all of a level, so
    /// only under leveled compaction can a table pass by them.
    pub(super) fn place_tables(
        &self,
        keyspace: &OpenKeyspace,
        outcome: &mut Outcome,
    ) -> Placement<'_> {
        let mut placement = Placement {
            scheduler: &self.scheduler,
            keyspace: keyspace.id,
            claims: Vec::new(),
        };
        if self.options.levels.compaction != Compaction::Leveled {
            return placement;
        }
        let mut running = self.scheduler.running();
        // Loaded while no merge can begin or end.
        let levels = keyspace.view.load().levels.clone();
        for (place, table) in &mut outcome.levels.adds {
            // The flush itself keeps the keyspace among the running ones.
            let claims = &mut running.of(keyspace.id).claims;
            *place = place_newest(&levels, claims, table);
            if place.level > 0 {
                placement.claims.push(claims.take_place(place.level, table));
            }
        }
        placement
    }
}
