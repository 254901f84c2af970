//! How the [filter](crate::db::read::above) over what stands above a learned tier is made, and renewed when its answers
//! have become worse. Writers go on meanwhile: they add their keys to both.

use std::sync::Arc;

use crate::compaction::{runs_above_tier, tier_of};
use crate::db::read::above::AboveFilter;
use crate::db::read::view::View;
use crate::db::store::{OpenKeyspace, Store};
use crate::db::upkeep::signals::Signals;
use crate::entry::{Cursor, hash_key};
use crate::error::{Error, Result};
use crate::options::TierSpec;
use crate::sync::lock;
use crate::version::Table;

/// After so many keys it is looked whether the store closes.
const KEYS_AT_ONCE: usize = 1 << 16;

/// The entries of some tables: a damaged manifest may say any number, but each takes a byte.
fn entries(tables: &[Arc<Table>]) -> u64 {
    let metas = tables.iter().map(|table| &table.meta);
    let entries = metas.map(|meta| meta.entries.min(meta.file_bytes));
    entries.fold(0, u64::saturating_add)
}

/// A new filter over what stands above the tier, if one is due.
fn due(view: &View, tier: TierSpec, signals: &Arc<Signals>) -> Option<AboveFilter> {
    // Without a tier, everything stands above it.
    let run = tier_of(&view.levels).filter(|_| tier.filter_bits_per_key > 0)?;
    if !view.needs_filter_above() {
        return None;
    }
    let written: u64 = view.memtables().map(|memtable| memtable.entries()).sum();
    let in_tier = entries(run.tables());
    let above = runs_above_tier(&view.levels).map(|run| entries(run.tables()));
    let keys = above.fold(written, u64::saturating_add);
    AboveFilter::new(keys, in_tier, tier.filter_bits_per_key, signals)
}

impl Store {
    /// Renews the filters over what stands above learned tiers that are due.
    ///
    /// # Errors
    /// If the store closes.
    pub(super) fn renew_filters_above(&self) -> Result<()> {
        let Some(tier) = self.options.levels.compaction.tier() else {
            return Ok(());
        };
        for keyspace in self.keyspaces.load().values() {
            if let Some(next) = due(&keyspace.view.load(), tier, &self.scheduler.signals) {
                match self.renew_filter_above(keyspace, Arc::new(next)) {
                    // It was dropped meanwhile.
                    Err(Error::NoSuchKeyspace(_)) => {}
                    renewed => renewed?,
                }
            }
        }
        Ok(())
    }

    fn renew_filter_above(&self, keyspace: &OpenKeyspace, next: Arc<AboveFilter>) -> Result<()> {
        let write = lock(&self.write);
        // Another thread may have begun.
        if !keyspace.view.load().needs_filter_above() {
            return Ok(());
        }
        keyspace.view.begin_filter_above(&next);
        drop(write);
        let filled = self.fill(keyspace, &next);
        let _write = lock(&self.write);
        if let Err(error @ (Error::Closed | Error::NoSuchKeyspace(_))) = filled {
            keyspace.view.end_filter_above(&next, None);
            return Err(error);
        }
        if filled.is_err() {
            // Reads and merges report tables that cannot be read.
            next.give_up();
        }
        let through = Some(self.visible());
        keyspace.view.end_filter_above(&next, through);
        Ok(())
    }

    /// Adds all keys that stand above the tier.
    fn fill(&self, keyspace: &OpenKeyspace, filter: &AboveFilter) -> Result<()> {
        let view = keyspace.view.load_full();
        for memtable in view.memtables() {
            self.add_all(keyspace, filter, &mut memtable.cursor())?;
        }
        for table in runs_above_tier(&view.levels).flat_map(|run| run.tables()) {
            self.add_all(keyspace, filter, &mut table.reader()?.cursor(false))?;
        }
        Ok(())
    }

    fn add_all(
        &self,
        keyspace: &OpenKeyspace,
        filter: &AboveFilter,
        cursor: &mut impl Cursor,
    ) -> Result<()> {
        cursor.seek_first()?;
        let mut added = 0;
        while let Some(here) = cursor.here() {
            filter.add(hash_key(here.key));
            cursor.next()?;
            added += 1;
            if added % KEYS_AT_ONCE == 0 {
                self.is_wanted(keyspace)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::db::read::lookup::Lookup;
    use crate::options::{Compaction, Options};
    use crate::table::BlockSource;

    /// A store with keys in the tier and above it, and its filter.
    fn store() -> Db {
        let mut options = Options::in_memory();
        options.levels.compaction = Compaction::LearnedTier(TierSpec::default());
        let db = Db::open("store", options).unwrap();
        (0..1_000u32).for_each(|n| db.put(n.to_be_bytes(), "old").unwrap());
        db.compact_range(None, None).unwrap();
        (0..10u32).for_each(|n| db.put(n.to_be_bytes(), "new").unwrap());
        db.settle();
        db
    }

    fn renew(db: &Db) {
        let view = db.state().view.load_full();
        let next = AboveFilter::new(1_000, 1_000, 10, &db.handle.store.scheduler.signals);
        let next = next.unwrap();
        // As if it were due.
        view.filters_above()
            .for_each(|filter| filter.note_converted(40));
        let store = &db.handle.store;
        store
            .renew_filter_above(db.state(), Arc::new(next))
            .unwrap();
    }

    fn get(db: &Db, view: &View, n: u32) -> (Option<Vec<u8>>, bool) {
        let key = n.to_be_bytes();
        let mut lookup = Lookup::new(&key, db.handle.store.visible());
        lookup.run(view, &mut BlockSource::new(true)).unwrap();
        let found = lookup.take_answer();
        let found = lookup.resolve(view, 0, found).unwrap();
        (
            found.map(|value| value.to_vec()),
            lookup.sources.above_negative,
        )
    }

    /// Its memtable has writes that go to the next filter alone, so readers who can see these do not ask the old one.
    #[test]
    fn a_replaced_filter_does_not_answer_readers_of_later_writes() {
        let db = store();
        let view = db.state().view.load_full();
        assert_eq!(get(&db, &view, 500), (Some(b"old".to_vec()), true));
        assert_eq!(get(&db, &view, 5), (Some(b"new".to_vec()), false));
        renew(&db);
        assert!(get(&db, &view, 500).1, "nothing was written since");
        db.put(500u32.to_be_bytes(), "newer").unwrap();
        assert_eq!(get(&db, &view, 500), (Some(b"newer".to_vec()), false));
        let view = db.state().view.load_full();
        assert_eq!(get(&db, &view, 500), (Some(b"newer".to_vec()), false));
        assert_eq!(get(&db, &view, 501), (Some(b"old".to_vec()), true));
        assert_eq!(get(&db, &view, 5), (Some(b"new".to_vec()), false));
    }

    /// One that was begun after an ingest took away the first does not go with the first.
    #[test]
    fn the_end_of_a_filter_that_was_given_up_leaves_the_next_one_alone() {
        let db = store();
        let (view, signals) = (&db.state().view, &db.handle.store.scheduler.signals);
        let new = || Arc::new(AboveFilter::new(1_000, 1_000, 10, signals).unwrap());
        let (first, second) = (new(), new());
        view.begin_filter_above(&first);
        view.begin_filter_above(&second);
        view.end_filter_above(&first, Some(db.handle.store.visible()));
        let added = hash_key(b"added");
        db.put("added", "new").unwrap();
        assert!(second.has(added));
        view.end_filter_above(&second, Some(db.handle.store.visible()));
        assert!(
            view.load_full()
                .filters_above()
                .any(|filter| Arc::ptr_eq(filter, &second))
        );
    }

    /// Nobody else would wake them: in a store that is only read from then on it would stay off.
    #[test]
    fn a_filter_that_is_full_is_renewed_though_nothing_is_flushed() {
        let db = store();
        (0..60_000u32).for_each(|n| db.put(n.to_be_bytes(), "new").unwrap());
        db.settle();
        let view = db.state().view.load_full();
        assert!(view.above(db.handle.store.visible()).is_some());
    }

    /// What writers add while a filter is made is in it, and an ingest gives it up.
    #[test]
    fn a_filter_has_what_is_written_while_it_is_made() {
        let db = store();
        let view = &db.state().view;
        let next = AboveFilter::new(1_000, 1_000, 10, &db.handle.store.scheduler.signals);
        let next = Arc::new(next.unwrap());
        view.begin_filter_above(&next);
        db.put(700u32.to_be_bytes(), "newer").unwrap();
        assert!(next.has(hash_key(&700u32.to_be_bytes())));
        let entries = [(800u32.to_be_bytes(), "ingested")];
        db.ingest_sorted(entries).unwrap();
        view.end_filter_above(&next, Some(db.handle.store.visible()));
        let view = view.load_full();
        assert_eq!(get(&db, &view, 800), (Some(b"ingested".to_vec()), false));
    }
}
