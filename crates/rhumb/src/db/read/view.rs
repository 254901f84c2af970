//! The view of a keyspace: the memtables and levels that a reader uses, and how it is replaced.

use super::above::AboveFilter;
use crate::compaction::{runs_above_tier, tier_of};
use crate::cursor::IdleCursors;
use crate::entry::operations::Op;
use crate::entry::{Sequence, hash_key};
use crate::memtable::Memtable;
use crate::sync::{Arc, Guard, HazardSlots, Swap};
use crate::version::{Levels, Run};

/// The sources of a keyspace, newest first: the active memtable, those that wait to be flushed, what flushes
/// kept back, and the levels. A view never changes, except that writes are added to the active memtable under
/// newer sequences.
#[derive(Debug, Clone)]
pub(in crate::db) struct View {
    pub(in crate::db) active: Arc<Memtable>,
    /// Newest first.
    pub(in crate::db) waiting: Vec<Arc<Memtable>>,
    /// What flushes kept back: entries without range deletes. Of the keys in it, no flush since the opening wrote a
    /// version that is as new.
    pub(in crate::db) held: Option<Arc<Memtable>>,
    pub(in crate::db) levels: Arc<Levels>,
    /// What stands above the learned tier, if a filter over that is kept,
    above: Option<Arc<AboveFilter>>,
    /// and the filter that is made to take its place. Writers add to both. Both are replaced under the lock of writers, or
    /// together with the active memtable.
    next_above: Option<Arc<AboveFilter>>,
    /// What iterators over this view left behind.
    pub(in crate::db) idle: IdleCursors,
}

impl View {
    /// A view of levels alone, with an empty memtable that takes writes.
    fn of(active: Memtable, levels: Arc<Levels>) -> Self {
        View {
            active: Arc::new(active),
            waiting: Vec::new(),
            held: None,
            levels,
            above: None,
            next_above: None,
            idle: IdleCursors::default(),
        }
    }

    /// The memtables, newest first.
    pub(in crate::db) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> + Clone {
        let sealed = self.waiting.iter().chain(&self.held);
        std::iter::once(&self.active).chain(sealed)
    }

    /// The filter over what stands above the learned tier, if it answers readers of this sequence.
    #[inline]
    pub(in crate::db) fn above(&self, visible: Sequence) -> Option<&AboveFilter> {
        self.above.as_deref().filter(|above| above.answers(visible))
    }

    /// The filters to which writers add their keys.
    pub(in crate::db) fn filters_above(&self) -> impl Iterator<Item = &Arc<AboveFilter>> {
        self.above.iter().chain(&self.next_above)
    }

    /// Whether there is no such filter, or its answers have become bad, and none is being made.
    pub(in crate::db) fn needs_filter_above(&self) -> bool {
        let is_due = self.above.as_ref().is_none_or(|above| above.is_due());
        is_due && self.next_above.is_none()
    }

    /// Notes the key of an operation that is about to be inserted.
    #[inline]
    pub(in crate::db) fn note_above(&self, op: &Op<'_>) {
        if self.above.is_none() && self.next_above.is_none() {
            return;
        }
        if let Op::Put { key, .. } | Op::Delete { key } = op {
            let hash = hash_key(key);
            self.filters_above().for_each(|filter| filter.add(hash));
        }
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

/// Tells the filters of a view what new levels have in the tier that was above it before.
fn note_conversion(view: &View, levels: &Levels) {
    let (old, new) = (tier_of(&view.levels), tier_of(levels));
    let is_same = |old: &Arc<Run>| new.is_some_and(|new| Arc::ptr_eq(old, new));
    if old.is_some_and(is_same) {
        return;
    }
    let entries = |levels| {
        let tables = runs_above_tier(levels).flat_map(|run| run.tables());
        tables.fold(0, |sum: u64, table| sum.saturating_add(table.meta.entries))
    };
    let is_above = |old: &Arc<Run>| new.is_some_and(|new| old.number() != new.number());
    for filter in view.filters_above() {
        filter.note_converted(entries(&view.levels).saturating_sub(entries(levels)));
        // What was the tier may stand above it now.
        if old.is_some_and(is_above) {
            filter.stop();
        }
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
        CurrentView {
            view: Swap::new(View::of(Memtable::new(), levels), slots),
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
                ..view.clone()
            }
        });
    }

    /// Installs new levels. If they hold what was `flushed`, it removes the memtable, and what is kept back
    /// replaces what was before.
    pub(in crate::db) fn install(&self, levels: Arc<Levels>, flushed: Option<&FlushedMemtable>) {
        let is_flushed = |m: &Arc<Memtable>| flushed.is_some_and(|f| Arc::ptr_eq(m, &f.memtable));
        self.view.replace(|view| {
            note_conversion(view, &levels);
            View {
                waiting: (view.waiting.iter().filter(|m| !is_flushed(m)).cloned()).collect(),
                held: match flushed {
                    Some(flushed) => flushed.held.clone(),
                    None => view.held.clone(),
                },
                levels,
                ..view.clone()
            }
        });
    }

    /// Installs levels with new tables that are newer than all that was written before; no memtable holds entries,
    /// and nobody writes. A new active memtable begins, so that a reader with the view from before, who reads
    /// its sequence later, finds nothing in it that was written after the new tables.
    pub(in crate::db) fn install_newest(&self, levels: Arc<Levels>) {
        self.view.replace(|view| {
            let active = Memtable::with_prefix(view.active.common_prefix());
            // Filters over what stands above the tier would have none of the new keys.
            View::of(active, levels)
        });
    }

    /// Removes all memtables and tables from the view.
    pub(in crate::db) fn empty(&self) {
        self.view
            .replace(|_| View::of(Memtable::new(), Arc::default()));
    }

    /// Begins another filter over what stands above the tier: from now on writers add to it too. The caller holds the lock of
    /// writers.
    pub(in crate::db) fn begin_filter_above(&self, next: &Arc<AboveFilter>) {
        self.view.replace(|view| View {
            next_above: Some(next.clone()),
            ..view.clone()
        });
    }

    /// Lets a filter answer that has all that stands above the tier, in place of the one before, which has all writes up to a
    /// sequence. If there is no such sequence, or it was given up meanwhile, it goes. The caller holds the lock of writers.
    pub(in crate::db) fn end_filter_above(
        &self,
        next: &Arc<AboveFilter>,
        through: Option<Sequence>,
    ) {
        self.view.replace(|view| {
            let mut view = view.clone();
            if view
                .next_above
                .take_if(|known| Arc::ptr_eq(known, next))
                .is_some()
                && let Some(through) = through
            {
                view.above.iter().for_each(|before| before.end(through));
                view.above = Some(next.clone());
            }
            view
        });
    }

    /// The smallest sequence in the memtables; `None` if they are all empty.
    pub(in crate::db) fn lowest_unflushed(&self) -> Option<u64> {
        let view = self.load();
        view.memtables().filter_map(|m| m.smallest_sequence()).min()
    }
}
