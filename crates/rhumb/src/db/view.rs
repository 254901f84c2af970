//! What a reader of one keyspace sees at one moment, and how it is exchanged.

use crate::memtable::Memtable;
use crate::sync::{Arc, Guard, HazardSlots, Swap};
use crate::version::Levels;

/// The sources of a keyspace, newest first: the memtable that takes writes, those that wait to be
/// flushed, the levels. A view never changes; a reader that holds one sees a stable world.
#[derive(Debug)]
pub(super) struct View {
    pub(super) active: Arc<Memtable>,
    /// Newest first.
    pub(super) waiting: Vec<Arc<Memtable>>,
    pub(super) levels: Arc<Levels>,
}

impl View {
    /// The memtables, newest first.
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.waiting)
    }

    /// Those that a reader has to ask, which took the view before it chose its moment: what comes into
    /// one that is empty now is not visible to it.
    pub(super) fn filled_memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        self.memtables().filter(|memtable| !memtable.is_empty())
    }
}

/// The current [`View`]; readers take it without a lock.
#[derive(Debug)]
pub(super) struct CurrentView {
    view: Swap<View>,
}

impl CurrentView {
    pub(super) fn new(levels: Levels, slots: &Arc<HazardSlots>) -> Self {
        let view = View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels: Arc::new(levels),
        };
        CurrentView {
            view: Swap::new(view, slots),
        }
    }

    /// The view now, for the length of one read.
    #[inline]
    pub(super) fn load(&self) -> Guard<'_, View> {
        self.view.load()
    }

    /// The view now, to be kept.
    pub(super) fn load_full(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Frees the replaced views that nobody reads any more; whether that was all of them. For
    /// background threads: it may mean giving back large memory.
    pub(super) fn free_replaced(&self) -> bool {
        self.view.free()
    }

    /// Starts a new active memtable; the full one waits to be flushed. The caller holds the write
    /// lock, so that nobody is inserting.
    pub(super) fn rotate(&self) {
        self.view.replace(|view| {
            let mut waiting = Vec::with_capacity(view.waiting.len() + 1);
            waiting.push(view.active.clone());
            waiting.extend(view.waiting.iter().cloned());
            // Later keys mostly look like earlier ones, and the memtable compares them faster then.
            let active = Arc::new(Memtable::with_prefix(view.active.common_prefix()));
            View {
                active,
                waiting,
                levels: view.levels.clone(),
            }
        });
    }

    /// Installs new levels, and takes out the memtables that are in them now.
    pub(super) fn install(&self, levels: Levels, flushed: &[Arc<Memtable>]) {
        self.view.replace(|view| View {
            active: view.active.clone(),
            waiting: view
                .waiting
                .iter()
                .filter(|m| !flushed.iter().any(|f| Arc::ptr_eq(m, f)))
                .cloned()
                .collect(),
            levels: Arc::new(levels),
        });
    }

    /// Lets go of everything.
    pub(super) fn empty(&self) {
        self.view.replace(|_| View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels: Arc::new(Levels::default()),
        });
    }

    /// The smallest sequence that is in a memtable only; `None` if there is none.
    pub(super) fn lowest_unflushed(&self) -> Option<u64> {
        let view = self.load();
        view.memtables().filter_map(|m| m.smallest_sequence()).min()
    }
}
