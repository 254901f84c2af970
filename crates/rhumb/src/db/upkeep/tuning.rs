//! When forms of tables are measured for a tuner.

use std::sync::Arc;

use crate::compaction::Counters;
use crate::db::store::{OpenKeyspace, Store};
use crate::tune::{Bench, Layout};

impl Store {
    /// Lets the tuner of a keyspace measure forms of tables, if it has to, on the largest table that there is. This takes a
    /// second or two: in the background it is done between merges, so that no tables wait for it, and before a merge that
    /// somebody asks for, whose tables may stay as they are for long.
    ///
    /// Failures are told in the statistics; a store that closes or a keyspace that is dropped ends it.
    pub(super) fn measure_forms(&self, keyspace: &OpenKeyspace) {
        if keyspace.tuner().is_none() {
            return;
        }
        let levels = keyspace.view.load().levels.clone();
        let tables = levels.tables().map(|(_, table)| table);
        let largest = tables.max_by_key(|table| table.meta.entries);
        // A table that cannot be opened is reported by whoever needs it.
        let Some((table, Ok(reader))) = largest.map(|table| (table, table.reader())) else {
            return;
        };
        let pace = |bytes| self.pace(keyspace, bytes);
        let measured = self.with_context(keyspace, &Counters::default(), &pace, |context| {
            let base = Layout::of(context.index, context.table);
            let map = context.maps.get(&table.meta.map_number);
            let Some((tuner, map)) = context.tuner.zip(map) else {
                return Ok(());
            };
            if !tuner.begins_to_measure(&base, reader) {
                return Ok(());
            }
            let map = (table.meta.map_number, Arc::clone(map));
            let bench = Bench {
                files: context.files,
                settings: &context.table_settings(map),
                pace: context.pace,
                go_on: context.go_on,
            };
            tuner.measure(&bench, reader)
        });
        if measured.is_ok() {
            self.remember_tuning(keyspace);
        }
    }
}
