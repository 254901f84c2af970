//! Where the tables of a flush or an ingest go: as deep as nothing overlaps them, so that they need not be merged
//! or moved there later.

use super::scheduler::Scheduler;
use crate::compaction::{Claims, Outcome, bottom_for, newest_places, place_newest};
use crate::db::store::{OpenKeyspace, Store};
use crate::options::Compaction;
use crate::version::{Place, TableMeta};

/// The claims on new tables and their places. Dropping it releases them.
pub(in crate::db) struct Placement<'a> {
    scheduler: &'a Scheduler,
    keyspace: u32,
    claims: Vec<u64>,
}

impl<'a> Placement<'a> {
    fn new(scheduler: &'a Scheduler, keyspace: &OpenKeyspace) -> Self {
        Placement {
            scheduler,
            keyspace: keyspace.id,
            claims: Vec::new(),
        }
    }

    fn claim(&mut self, claims: &mut Claims, place: Place, table: &TableMeta) {
        self.claims.push(claims.take_place(place.level, table));
    }

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
        // A merge may have waited for one of these places or tables.
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
        let mut placement = Placement::new(&self.scheduler, keyspace);
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
                placement.claim(claims, *place, table);
            }
        }
        placement
    }

    /// Chooses the places of new tables, of `bytes` together, that are newer than all others, and claims them and the
    /// tables until the result is dropped, which must be after their sequence is published: a merge of the
    /// tables before that would drop older versions that snapshots taken until then read.
    pub(in crate::db) fn place_ingested(
        &self,
        keyspace: &OpenKeyspace,
        tables: &[TableMeta],
        bytes: u64,
    ) -> (Vec<Place>, Placement<'_>) {
        let mut placement = Placement::new(&self.scheduler, keyspace);
        let mut running = self.scheduler.running();
        // Loaded while no merge can begin or end.
        let levels = keyspace.view.load().levels.clone();
        let claims = &mut running.of(keyspace.id).claims;
        let bottom = bottom_for(&levels, &self.options.levels, bytes);
        let new_run = || self.files.new_number();
        let places = newest_places(&levels, claims, tables, bottom, new_run);
        for (place, table) in places.iter().zip(tables) {
            placement.claim(claims, *place, table);
        }
        (places, placement)
    }
}
