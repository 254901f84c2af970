//! Insertion of versions that come later than newer ones of their key, as no order of commits has them.

use super::super::record::Record;
use super::{Address, Appender, Inserted, NewEntry, Tree, View, Writer};
use crate::entry::Sequence;

impl Tree {
    /// Inserts a version that is older than the newest one of the entry at some place; `None` if it belongs behind all versions of
    /// that. Records never change, so the newer ones are written anew: it takes time and memory in proportion to their number.
    pub(super) fn insert_late(
        &self,
        arena: &mut Appender<'_>,
        writer: &mut Writer,
        (view, at): (&View<'_>, usize),
        late: &NewEntry<'_>,
    ) -> Option<Inserted> {
        let newest = view.record(at);
        let next = self.version_at(newest, late.sequence)?;
        if self.record(next).sequence == late.sequence {
            return Some(Inserted::Duplicate);
        }
        let link = self.link_behind(next);
        let inserted = Record::append(arena, late, Some(link)).and_then(|record| {
            let renewed = self.rewrite_above(arena, (newest, late.sequence), record)?;
            view.block.renew(view, at, renewed);
            writer.ascending = false;
            Some(self.inserted(writer, at, record))
        });
        Some(inserted.unwrap_or(Inserted::Full))
    }

    /// Writes the versions with a sequence above one once more, above an older one. Returns the newest.
    fn rewrite_above(
        &self,
        arena: &mut Appender<'_>,
        (newest, sequence): (Address, Sequence),
        mut last: Address,
    ) -> Option<Address> {
        let versions = self.versions(newest);
        let newer: Vec<Record<'_>> = versions
            .map(|version| self.record(version))
            .take_while(|record| record.sequence > sequence)
            .collect();
        for record in newer.into_iter().rev() {
            let again = NewEntry {
                key: record.key,
                sequence: record.sequence,
                kind: record.kind,
                value: record.value_bytes(&self.arena),
            };
            last = Record::append(arena, &again, Some(self.link_behind(last)))?;
        }
        Some(last)
    }
}
