//! The view of a keyspace: the memtables and levels that a reader uses, and how it is replaced.

use crate::entry::Sequence;
use crate::memtable::Memtable;
use crate::sync::{Arc, Guard, HazardSlots, Swap};
use crate::version::Levels;

/// The sources of a keyspace, newest first: the active memtable, those that wait to be flushed, what flushes
/// kept back, and the levels. A view never changes, except that writes are added to the active memtable under
/// newer sequences.
#[derive(Debug)]
pub(in crate::db) struct View {
    pub(in crate::db) active: Arc<Memtable>,
    /// Newest first.
    pub(in crate::db) waiting: Vec<Arc<Memtable>>,
    /// What flushes kept back: entries without range deletes. Of the keys in it, no flush since the opening wrote a
    /// version that is as new.
    pub(in crate::db) held: Option<Arc<Memtable>>,
    pub(in crate::db) levels: Arc<Levels>,
}

impl View {
    /// The memtables, newest first.
    pub(in crate::db) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> + Clone {
        let sealed = self.waiting.iter().chain(&self.held);
        std::iter::once(&self.active).chain(sealed)
    }

    /// Whether operations up to a sequence are in memtables that wait to be flushed, or are kept back.
    pub(in crate::db) fn has_sealed(&self, sequence: Sequence) -> bool {
        let mut sealed = self.waiting.iter().chain(&self.held);
        sealed.any(|m| m.smallest_sequence().is_some_and(|s| s <= sequence))
    }

    /// The memtables that are not empty. They are enough for a reader that loaded the view before
    /// its sequence: what is written later to an empty memtable is not visible to it.
    pub(in crate::db) fn filled_memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> + Clone {
        self.memtables().filter(|memtable| !memtable.is_empty())
    }
}

/// A memtable whose entries are in tables, but for those that are kept back.
#[derive(Debug)]
pub(in crate::db) struct FlushedMemtable {
    pub(in crate::db) memtable: Arc<Memtable>,
    /// All that is kept back now.
    pub(in crate::db) held: Option<Arc<Memtable>>,
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
            held: None,
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
                held: view.held.clone(),
                levels: view.levels.clone(),
            }
        });
    }

    /// Installs new levels. If they hold what was `flushed`, it removes the memtable, and what is kept back
    /// replaces what was before.
    pub(in crate::db) fn install(&self, levels: Arc<Levels>, flushed: Option<&FlushedMemtable>) {
        let is_flushed = |m: &Arc<Memtable>| flushed.is_some_and(|f| Arc::ptr_eq(m, &f.memtable));
        self.view.replace(|view| View {
            active: view.active.clone(),
            waiting: (view.waiting.iter().filter(|m| !is_flushed(m)).cloned()).collect(),
            held: match flushed {
                Some(flushed) => flushed.held.clone(),
                None => view.held.clone(),
            },
            levels,
        });
    }

    /// Installs levels with new tables that are newer than all that was written before; no memtable holds entries,
    /// and nobody writes. A new active memtable begins, so that a reader with the view from before, who reads
    /// its sequence later, finds nothing in it that was written after the new tables.
    pub(in crate::db) fn install_newest(&self, levels: Arc<Levels>) {
        self.view.replace(|view| View {
            active: Arc::new(Memtable::with_prefix(view.active.common_prefix())),
            waiting: Vec::new(),
            held: None,
            levels,
        });
    }

    /// Removes all memtables and tables from the view.
    pub(in crate::db) fn empty(&self) {
        self.view.replace(|_| View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            held: None,
            levels: Arc::new(Levels::default()),
        });
    }

    /// The smallest sequence in the memtables; `None` if they are all empty.
    pub(in crate::db) fn lowest_unflushed(&self) -> Option<u64> {
        let view = self.load();
        view.memtables().filter_map(|m| m.smallest_sequence()).min()
    }
}
