//! Values that new tables point to.

use std::collections::BTreeMap;
use std::mem;

use super::builder::PACE;
use super::context::{Context, Counters};
use super::logged::logged;
use super::merge::Survivor;
use crate::entry::{EntryKind, Pointer};
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::vlog::{ValueWriter, Window};

/// A value file ends when it holds about so many bytes: files with little use can then be given up one by one.
const FILE_BYTES: u64 = 128 << 20;

/// What was read of so many files is kept at most, 64 KiB each.
const MOST_WINDOWS: usize = 128;

/// Where the value of an entry of a new table goes.
pub(super) enum Placed {
    /// It stays as it is in the entry: beside its key, or where a pointer leads.
    AsItIs,
    /// It lies at this place: in a value file that it was written into, or in its log.
    Apart(Pointer),
    /// It was apart from its key, and comes back to it.
    Beside(Vec<u8>),
}

/// Writes the values of new tables that are not stored beside their keys: long ones, and those in the files that
/// are to be emptied. Each of the new value files belongs to one table.
pub(super) struct Values<'a> {
    written: WrittenValues<'a>,
    /// What was read of the files that are to be emptied. The keys of a table are in order, and mostly the values
    /// that it has in one file too.
    windows: BTreeMap<u64, Window>,
}

impl<'a> Values<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Values {
            written: WrittenValues {
                context,
                open: None,
                begun: Vec::new(),
                ended: Vec::new(),
                unpaced: 0,
            },
            windows: BTreeMap::new(),
        }
    }

    /// Writes the value of an entry into a value file, if it belongs there and does not lie in one that stays.
    #[inline]
    pub fn place(&mut self, entry: &Survivor<'_>) -> Result<Placed> {
        let apart = match entry.kind {
            EntryKind::Put => match logged(self.written.context, entry) {
                Some(pointer) => Some(pointer),
                None => self.written.append(entry.key, entry.value)?,
            },
            EntryKind::Pointer if !self.written.context.victims.is_empty() => {
                return self.evacuate(entry.key, entry.value);
            }
            _ => None,
        };
        Ok(apart.map_or(Placed::AsItIs, Placed::Apart))
    }

    /// Moves the value that a pointer leads to, if its file is to be emptied. It is verified before.
    fn evacuate(&mut self, key: &[u8], pointer: &[u8]) -> Result<Placed> {
        let context = self.written.context;
        let pointer = Pointer::from_bytes(pointer);
        let Some(pointer) = pointer.filter(|p| context.victims.contains(&p.file)) else {
            return Ok(Placed::AsItIs);
        };
        let Some(from) = context.value_files.get(pointer.file) else {
            let path = context.files.path(FileKind::Values, pointer.file);
            let expected = "a value file that a table names";
            return Err(Error::corruption(&path, 0, expected, "none of this number"));
        };
        if self.windows.len() >= MOST_WINDOWS && !self.windows.contains_key(&pointer.file) {
            self.windows.clear();
        }
        let window = self.windows.entry(pointer.file).or_default();
        let reader = from.file.reader()?;
        let value = reader.read_in_order(context.keyspace, key, pointer, window)?;
        Counters::add(&context.counters.moved_bytes, value.len() as u64);
        let placed = match self.written.append(key, value)? {
            Some(pointer) => Placed::Apart(pointer),
            None => Placed::Beside(value.to_vec()),
        };
        window.forget_long();
        Ok(placed)
    }

    /// Ends the open file, durably but for its name.
    pub fn close(&mut self) -> Result<()> {
        self.written.close()
    }

    /// The length of a file that was ended, or that tables of the keyspace name.
    pub fn bytes_of(&self, number: u64) -> Option<u64> {
        let WrittenValues { ended, context, .. } = &self.written;
        let ended = ended.iter().find(|(ended, _)| *ended == number);
        let log = || context.logged.iter().find(|log| log.number == number);
        let known = || context.value_files.bytes_of(number);
        let new = ended.map(|(_, bytes)| *bytes);
        new.or_else(|| Some(log()?.bytes)).or_else(known)
    }

    /// The numbers and lengths of the files that were ended.
    pub fn take_ended(&mut self) -> Vec<(u64, u64)> {
        mem::take(&mut self.written.ended)
    }

    /// Removes what was written, as far as possible; the next opening removes the rest.
    pub fn abandon(self) {
        drop(self.written.open);
        for number in self.written.begun {
            self.written.context.files.delete(FileKind::Values, number);
        }
    }
}

/// The value files that are written.
struct WrittenValues<'a> {
    context: &'a Context<'a>,
    open: Option<ValueWriter>,
    /// The numbers of all files that were begun.
    begun: Vec<u64>,
    /// The files that were ended, with their lengths.
    ended: Vec<(u64, u64)>,
    /// The bytes that were written since the last pause.
    unpaced: u64,
}

impl WrittenValues<'_> {
    /// Writes a value into the open file, if it is large enough. Returns where it lies.
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Pointer>> {
        let least = self.context.table.separate_values;
        if least.is_none_or(|least| value.len() < least as usize) {
            return Ok(None);
        }
        let is_full = |open: &ValueWriter| open.bytes() >= FILE_BYTES;
        if self.open.as_ref().is_some_and(is_full) {
            self.close()?;
        }
        let context = self.context;
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let files = context.files;
                let number = files.new_number();
                if Pointer::new(number, 0, 0).is_none() {
                    return Ok(None);
                }
                let (fs, dir) = (&files.fs, &files.dir);
                let new = ValueWriter::create(fs, dir, number, context.keyspace)?;
                self.begun.push(number);
                none.insert(new)
            }
        };
        let before = open.bytes();
        let pointer = open.append(key, value)?;
        self.unpaced += open.bytes() - before;
        if self.unpaced >= PACE {
            (context.pace)(mem::take(&mut self.unpaced));
        }
        Ok(pointer)
    }

    fn close(&mut self) -> Result<()> {
        if let Some(mut open) = self.open.take() {
            open.finish()?;
            self.ended.push((open.number(), open.bytes()));
            Counters::add_time(&self.context.counters.write_nanos, open.write_time);
        }
        Ok(())
    }
}
