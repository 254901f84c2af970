//! The view of a keyspace: the memtables and levels that a reader uses, and how it is replaced.

use crate::memtable::Memtable;
use crate::sync::{Arc, Guard, HazardSlots, Swap};
use crate::version::Levels;

/// The sources of a keyspace, newest first: the active memtable, those that wait to be flushed, and
/// the levels. A view never changes, except that writes are added to the active memtable under
/// newer sequences.
#[derive(Debug)]
pub(in crate::db) struct View {
    pub(in crate::db) active: Arc<Memtable>,
    /// Newest first.
    pub(in crate::db) waiting: Vec<Arc<Memtable>>,
    pub(in crate::db) levels: Arc<Levels>,
}

impl View {
    /// The memtables, newest first.
    pub(in crate::db) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> + Clone {
        std::iter::once(&self.active).chain(&self.waiting)
    }

    /// The memtables that are not empty. They are enough for a reader that loaded the view before
    /// its sequence: what is written later to an empty memtable is not visible to it.
    pub(in crate::db) fn filled_memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> + Clone {
        self.memtables().filter(|memtable| !memtable.is_empty())
    }
}

/// The current [`View`]. Readers load it without a lock.
#[derive(Debug)]
pub(in crate::db) struct CurrentView {
    view: Swap<View>,
}

impl CurrentView {
    pub(in crate::db) fn new(levels: Arc<Levels>, slots: &Arc<HazardSlots>) -> Self {
        let view = View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels,
        };
        CurrentView {
            view: Swap::new(view, slots),
        }
    }

    /// The current view, for one short read.
    #[inline]
    pub(in crate::db) fn load(&self) -> Guard<'_, View> {
        self.view.load()
    }

    /// The current view, to be kept for longer.
    pub(in crate::db) fn load_full(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Frees the replaced views that no reader uses any more. Returns whether those were all. For
    /// background threads, since freeing large memory takes time.
    pub(in crate::db) fn free_replaced(&self) -> bool {
        self.view.free()
    }

    /// Starts a new active memtable; the full one then waits to be flushed. The caller holds the
    /// write lock, so that no write is being inserted.
    pub(in crate::db) fn rotate(&self) {
        self.view.replace(|view| {
            let mut waiting = Vec::with_capacity(view.waiting.len() + 1);
            waiting.push(view.active.clone());
            waiting.extend(view.waiting.iter().cloned());
            // Later keys mostly share the prefix of earlier ones, and comparisons are faster with
            // it known.
            let active = Arc::new(Memtable::with_prefix(view.active.common_prefix()));
            View {
                active,
                waiting,
                levels: view.levels.clone(),
            }
        });
    }

    /// Installs new levels, and removes the memtables that were flushed to them.
    pub(in crate::db) fn install(&self, levels: Arc<Levels>, flushed: &[Arc<Memtable>]) {
        self.view.replace(|view| View {
            active: view.active.clone(),
            waiting: view
                .waiting
                .iter()
                .filter(|m| !flushed.iter().any(|f| Arc::ptr_eq(m, f)))
                .cloned()
                .collect(),
            levels,
        });
    }

    /// Removes all memtables and tables from the view.
    pub(in crate::db) fn empty(&self) {
        self.view.replace(|_| View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels: Arc::new(Levels::default()),
        });
    }

    /// The smallest sequence in the memtables; `None` if they are all empty.
    pub(in crate::db) fn lowest_unflushed(&self) -> Option<u64> {
        let view = self.load();
        view.memtables().filter_map(|m| m.smallest_sequence()).min()
    }
}
