//! The pointers of a block: where they lie behind its other columns, and which entry has which.

use std::ops::Range;

use super::super::WITH_POINTERS;
use super::super::pointers::PointerView;
use super::BlockLayout;
use crate::entry::{EntryKind, Pointer};
use crate::table::form::damage::Damage;

impl BlockLayout {
    /// The length of the pointers, which start at `start`.
    pub(super) fn parse_pointers(&self, raw: &[u8], start: u64) -> Result<u64, Damage> {
        if u32::try_from(start).is_err() || start > raw.len() as u64 {
            let expected = format!("pointers in a block of {} bytes", raw.len());
            return Err(Damage::new(0, expected, format!("at {start}")));
        }
        let moved = |damage: Damage| damage.moved(start as usize);
        let bytes = raw.get(start as usize..).unwrap_or_default();
        let view = PointerView::parse(bytes, self.ranked_groups()).map_err(moved)?;
        let alike = self.kind_alike.is_some() && view.count != self.count();
        if alike || view.count > self.count() {
            let expected = format!("pointers of {} entries", self.count());
            return Err(moved(Damage::new(20, expected, view.count)));
        }
        Ok(view.len() as u64)
    }

    /// The number of groups before which pointers are counted; `None` if all entries are pointers.
    #[inline]
    fn ranked_groups(&self) -> Option<usize> {
        self.kind_alike.is_none().then(|| self.groups())
    }

    #[inline]
    fn pointer_view<'a>(&self, raw: &'a [u8]) -> PointerView<'a> {
        let bytes = raw.get(self.pointers(raw)..).unwrap_or_default();
        PointerView::of_sound(bytes, self.ranked_groups())
    }

    /// How many of the entries `slots`, whose kinds are stored, are pointers.
    fn count_pointers(&self, raw: &[u8], slots: Range<usize>) -> usize {
        let kinds = self.kinds as usize;
        let kinds = raw.get(kinds + slots.start..kinds + slots.end);
        let kinds = kinds.unwrap_or_default().iter();
        kinds
            .filter(|kind| **kind == EntryKind::Pointer as u8)
            .count()
    }

    /// The pointer at `slot`; one that leads nowhere if the entry is none.
    pub(in crate::table::block) fn pointer(&self, raw: &[u8], slot: usize) -> Pointer {
        let view = self.pointer_view(raw);
        let number = match self.kind_alike {
            Some(_) => slot,
            None => {
                let group = slot >> self.group_shift;
                let first = group << self.group_shift;
                view.rank(group) + self.count_pointers(raw, first..slot)
            }
        };
        view.get(number).unwrap_or(Pointer::NOWHERE)
    }

    /// Where the pointers start, if there are any: behind the values.
    pub(in crate::table::block) fn pointers(&self, raw: &[u8]) -> usize {
        let values = match self.fixed_values {
            true => self.count() * self.value.alike(),
            false => self.end_of_groups(raw, self.value_offsets, &self.value) as usize,
        };
        self.values() + values
    }

    /// Whether there are pointers among the entries of a raw block.
    pub fn has_pointers(&self, raw: &[u8]) -> bool {
        self.count > 0 && has_pointers(raw)
    }

    /// Checks the pointers, and that each entry that is one has a pointer.
    pub(super) fn check_pointers(&self, raw: &[u8]) -> Result<(), Damage> {
        if self.kind_alike.is_some() && !has_pointers(raw) {
            return Ok(());
        }
        let stored = match self.kind_alike {
            Some(_) => self.count(),
            None => self.count_pointers(raw, 0..self.count()),
        };
        let view = has_pointers(raw).then(|| self.pointer_view(raw));
        let found = view.map_or(0, |view| view.count);
        if stored != found {
            return Err(Damage::new(6, format!("{stored} pointers"), found));
        }
        let Some(view) = view else { return Ok(()) };
        let mut before = 0;
        let ranks = (0..self.ranked_groups().unwrap_or(0)).map(|group| {
            let (rank, first) = (before, group << self.group_shift);
            let end = self.count().min(first + (1 << self.group_shift));
            before += self.count_pointers(raw, first..end);
            rank
        });
        let start = self.pointers(raw);
        view.check(ranks).map_err(|damage| damage.moved(start))
    }
}

/// Whether the header of a raw block says that it has pointers behind its values.
pub(super) fn has_pointers(raw: &[u8]) -> bool {
    raw.get(6).is_some_and(|codes| codes & WITH_POINTERS != 0)
}
