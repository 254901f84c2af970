//! Values that new tables point to.

use std::mem;

use super::context::{Context, Counters};
use super::merge::Survivor;
use crate::entry::{EntryKind, Pointer};
use crate::error::Result;
use crate::fs::names::FileKind;
use crate::vlog::ValueWriter;

/// A value file ends when it holds about so many bytes: files with little use can then be given up one by one.
const FILE_BYTES: u64 = 128 << 20;

/// Writes the values of new tables that are not stored beside their keys. Each of the value files belongs to one
/// table.
pub(super) struct Values<'a> {
    context: &'a Context<'a>,
    open: Option<ValueWriter>,
    /// The numbers of all files that were begun.
    begun: Vec<u64>,
    /// The files that were ended, with their lengths.
    ended: Vec<(u64, u64)>,
}

impl<'a> Values<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Values {
            context,
            open: None,
            begun: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Writes the value of an entry into a value file, if it is large enough. Returns where it lies.
    pub fn separate(&mut self, entry: &Survivor<'_>) -> Result<Option<Pointer>> {
        let Some(least) = self.context.table.separate_values else {
            return Ok(None);
        };
        if entry.kind != EntryKind::Put || entry.value.len() < least as usize {
            return Ok(None);
        }
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.bytes() >= FILE_BYTES)
        {
            self.close()?;
        }
        let context = self.context;
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let files = context.files;
                let number = files.new_number();
                let (fs, dir) = (&files.fs, &files.dir);
                let new = ValueWriter::create(fs, dir, number, context.keyspace)?;
                self.begun.push(number);
                none.insert(new)
            }
        };
        open.append(entry.key, entry.value)
    }

    /// Ends the open file, durably but for its name.
    pub fn close(&mut self) -> Result<()> {
        if let Some(mut open) = self.open.take() {
            open.finish()?;
            self.ended.push((open.number(), open.bytes()));
            Counters::add_time(&self.context.counters.write_nanos, open.write_time);
        }
        Ok(())
    }

    /// The length of a file that was ended, or that tables of the keyspace name.
    pub fn bytes_of(&self, number: u64) -> Option<u64> {
        let ended = self.ended.iter().find(|(ended, _)| *ended == number);
        let known = || self.context.value_files.bytes_of(number);
        ended.map(|(_, bytes)| *bytes).or_else(known)
    }

    /// The numbers and lengths of the files that were ended.
    pub fn take_ended(&mut self) -> Vec<(u64, u64)> {
        mem::take(&mut self.ended)
    }

    /// Removes what was written, as far as possible; the next opening removes the rest.
    pub fn abandon(self) {
        drop(self.open);
        for number in self.begun {
            self.context.files.delete(FileKind::Values, number);
        }
    }
}
