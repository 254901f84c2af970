//! What a reader of one keyspace sees at one moment, and how it is exchanged.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use crate::memtable::Memtable;
use crate::sync::{Mutex, lock};
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

/// The views that were replaced. A reader may still hold one; it is never the one who frees it, since
/// that may mean closing files and giving back large memory.
#[derive(Debug, Default)]
pub(super) struct Retired(Mutex<Vec<Arc<View>>>);

impl Retired {
    fn add(&self, view: Arc<View>) {
        lock(&self.0).push(view);
    }

    /// Frees the views that no reader holds any more. For background threads.
    pub(super) fn free(&self) {
        // Nobody can take hold of a replaced view anew, so one that is held here only stays so.
        let unused = |view: &mut Arc<View>| Arc::strong_count(view) == 1;
        let unused: Vec<_> = lock(&self.0).extract_if(.., unused).collect();
        drop(unused);
    }
}

/// The current [`View`]; readers take it without a lock.
#[derive(Debug)]
pub(super) struct CurrentView {
    view: ArcSwap<View>,
    retired: Arc<Retired>,
    /// Held while a new view is made from the current one.
    change: Mutex<()>,
}

impl CurrentView {
    pub(super) fn new(levels: Levels, retired: &Arc<Retired>) -> Self {
        let view = View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels: Arc::new(levels),
        };
        CurrentView {
            view: ArcSwap::from_pointee(view),
            retired: Arc::clone(retired),
            change: Mutex::new(()),
        }
    }

    /// The view now, for the length of one read.
    pub(super) fn load(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    /// The view now, to be kept.
    pub(super) fn load_full(&self) -> Arc<View> {
        self.view.load_full()
    }

    fn exchange(&self, change: impl FnOnce(&View) -> View) {
        let _change = lock(&self.change);
        let view = self.view.load_full();
        drop(self.view.swap(Arc::new(change(&view))));
        self.retired.add(view);
    }

    /// Starts a new active memtable; the full one waits to be flushed. The caller holds the write
    /// lock, so that nobody is inserting.
    pub(super) fn rotate(&self) {
        self.exchange(|view| {
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
        self.exchange(|view| View {
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
        self.exchange(|_| View {
            active: Arc::new(Memtable::new()),
            waiting: Vec::new(),
            levels: Arc::new(Levels::default()),
        });
    }

    /// The smallest sequence that is in a memtable only; `None` if there is none.
    pub(super) fn lowest_unflushed(&self) -> Option<u64> {
        let view = self.load();
        let memtables = view.waiting.iter().chain([&view.active]);
        memtables.filter_map(|m| m.smallest_sequence()).min()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_frees_the_view_that_it_held() {
        let retired = Arc::new(Retired::default());
        let current = CurrentView::new(Levels::default(), &retired);
        let (short, long) = (current.load(), current.load_full());
        let watched = Arc::downgrade(&short.active);
        current.empty();
        drop(short);
        retired.free();
        assert!(watched.upgrade().is_some(), "the other reader holds it");
        drop(long);
        assert!(watched.upgrade().is_some(), "readers do not free");
        retired.free();
        assert!(watched.upgrade().is_none());
        assert!(lock(&retired.0).is_empty());
    }
}
