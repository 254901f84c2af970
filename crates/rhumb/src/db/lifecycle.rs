//! Creating and dropping keyspaces, and ending the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compaction::{Draining, Victims};
use crate::db::DEFAULT_KEYSPACE;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::options::KeyspaceOptions;
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::{Change, Edit};

const LONGEST_NAME: usize = 255;

impl Store {
    /// Makes a keyspace; the manifest knows it before any log frame names it.
    pub(super) fn create_keyspace(
        &self,
        name: &str,
        options: KeyspaceOptions,
    ) -> Result<Arc<OpenKeyspace>> {
        let options = options.checked()?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            let message = format!(
                "the name of a keyspace has 1 to {LONGEST_NAME} bytes, but this one has {}",
                name.len()
            );
            return Err(Error::InvalidArgument(message));
        }
        self.await_drop_of(name)?;
        // The keyspace is durable at once, so all earlier writes have to be durable first. Those that come
        // meanwhile count as later ones.
        self.sync_logs()?;
        let mut catalog = lock(&self.catalog);
        if self.keyspace_named(name).is_some() {
            return Err(Error::KeyspaceExists(name.to_string()));
        }
        let id = catalog.state.next_keyspace_id;
        let mut changes = vec![Change::CreateKeyspace {
            id,
            name: name.to_string(),
        }];
        if options != KeyspaceOptions::default() {
            let keyspace = id;
            changes.push(Change::Options { keyspace, options });
        }
        self.commit_edit(&mut catalog, Edit { changes })?;
        let state = catalog
            .state
            .keyspaces
            .get(&id)
            .cloned()
            .unwrap_or_default();
        let shared = (&self.options, &self.hazard_slots);
        let keyspace = OpenKeyspace::new(self.number, id, &state, shared);
        let keyspace = Arc::new(keyspace);
        self.change_keyspaces(|keyspaces| {
            keyspaces.insert(id, keyspace.clone());
        });
        Ok(keyspace)
    }

    /// What is set for a keyspace alone.
    pub(super) fn keyspace_options(&self, keyspace: &OpenKeyspace) -> Result<KeyspaceOptions> {
        let catalog = lock(&self.catalog);
        let state = catalog.state.keyspaces.get(&keyspace.id);
        let state = state.ok_or_else(|| Error::NoSuchKeyspace(keyspace.name.clone()))?;
        Ok(state.options.clone())
    }

    /// Sets a keyspace's options, as one step of the commit order: durable at once, and never without
    /// what was written before.
    pub(super) fn set_keyspace_options(
        &self,
        keyspace: &OpenKeyspace,
        options: KeyspaceOptions,
    ) -> Result<()> {
        let options = options.checked()?;
        self.check_writable()?;
        if self.keyspace_options(keyspace)? == options {
            return Ok(());
        }
        self.sync_logs()?;
        let mut catalog = lock(&self.catalog);
        if !catalog.state.keyspaces.contains_key(&keyspace.id) {
            return Err(Error::NoSuchKeyspace(keyspace.name.clone()));
        }
        let changes = vec![Change::Options {
            keyspace: keyspace.id,
            options: options.clone(),
        }];
        self.commit_edit(&mut catalog, Edit { changes })?;
        keyspace.set_layout(options.layout(&self.options).1);
        Ok(())
    }

    /// Drops a keyspace; its tables go when nobody reads them any more.
    pub(super) fn drop_keyspace(&self, name: &str) -> Result<()> {
        if name == DEFAULT_KEYSPACE {
            let message =
                "the default keyspace cannot be dropped: delete its keys instead".to_string();
            return Err(Error::InvalidArgument(message));
        }
        self.check_writable()?;
        let keyspace = self.keyspace_named(name);
        let keyspace = keyspace.ok_or_else(|| Error::NoSuchKeyspace(name.to_string()))?;
        // The lock keeps groups from being written meanwhile: each comes before the drop or is
        // refused.
        let write = lock(&self.write);
        if keyspace.dropped.swap(true, Ordering::AcqRel) {
            return Err(Error::NoSuchKeyspace(name.to_string()));
        }
        drop(write);
        let dropped = self.drop_durably(&keyspace);
        if dropped.is_err() {
            keyspace.dropped.store(false, Ordering::Release);
            self.scheduler.signals.wake_all();
        }
        dropped
    }

    /// Waits while the keyspace with that name is being dropped.
    fn await_drop_of(&self, name: &str) -> Result<()> {
        self.scheduler.signals.wait_while(|_| {
            self.check_writable()?;
            Ok(self.keyspace_named(name).is_some_and(|k| k.is_dropped()))
        })
    }

    /// Drops a keyspace that takes no more writes. Nobody waits for a lock during the syncs but those who
    /// change tables or keyspaces.
    fn drop_durably(&self, keyspace: &Arc<OpenKeyspace>) -> Result<()> {
        self.sync_logs()?;
        let mut catalog = lock(&self.catalog);
        let changes = vec![Change::DropKeyspace(keyspace.id)];
        self.commit_edit(&mut catalog, Edit { changes })?;
        self.change_keyspaces(|keyspaces| {
            keyspaces.remove(&keyspace.id);
        });
        keyspace.view.empty();
        lock(&self.dropped).push(keyspace.clone());
        drop(catalog);
        self.scheduler.change(keyspace.id, |jobs| {
            (jobs.draining, jobs.victims) = (Draining::default(), Victims::default());
        });
        self.update_pressure();
        // The drop stands, whether the logs that only it needed can go now or later.
        let _ = self.collect_logs();
        Ok(())
    }

    fn change_keyspaces(&self, change: impl Fn(&mut BTreeMap<u32, Arc<OpenKeyspace>>)) {
        self.keyspaces.rcu(|keyspaces| {
            let mut keyspaces = BTreeMap::clone(keyspaces);
            change(&mut keyspaces);
            keyspaces
        });
    }

    /// Lets the tuner of a keyspace remember what is new.
    pub(super) fn remember_tuning(&self, keyspace: &OpenKeyspace) {
        if let Some(tuner) = keyspace.tuner()
            && !keyspace.is_dropped()
        {
            tuner.remember(&self.files, keyspace.id);
        }
    }

    /// Ends the log cleanly. No writes are taken afterwards.
    ///
    /// # Errors
    /// If a write failed now or earlier. What was acknowledged as durable is durable; the rest may
    /// be lost.
    pub(super) fn end_log(&self) -> Result<()> {
        let mut write = lock(&self.write);
        if lock(&self.catalog).manifest.is_none() {
            return Ok(());
        }
        self.failure.set(Error::Closed)?;
        self.end_logs(&mut write)?;
        drop(write);
        for keyspace in self.keyspaces.load().values() {
            self.remember_tuning(keyspace);
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::{Db, Options};

    /// While a drop waits for its syncs, the keyspace is gone for everybody, and its name is free after them.
    #[test]
    fn a_name_is_taken_again_once_the_drop_is_durable() {
        let db = Db::open("store", Options::in_memory()).unwrap();
        db.create_keyspace("prices")
            .unwrap()
            .put("apple", "1")
            .unwrap();
        let store = &db.handle.store;
        let keyspace = store.keyspace_named("prices").unwrap();
        keyspace.dropped.store(true, Ordering::Release);
        assert!(matches!(
            db.keyspace("prices"),
            Err(Error::NoSuchKeyspace(_))
        ));
        assert_eq!(db.keyspaces(), [DEFAULT_KEYSPACE]);
        std::thread::scope(|scope| {
            let seen = store.scheduler.signals.changes();
            let created = scope.spawn(|| db.get_or_create_keyspace("prices").unwrap());
            store.drop_durably(&keyspace).unwrap();
            assert!(store.scheduler.signals.changes() > seen);
            let prices = created.join().unwrap();
            assert!(prices.get("apple").unwrap().is_none());
            prices.put("pear", "2").unwrap();
        });
    }
}
