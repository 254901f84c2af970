//! Values that new tables point to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;

use super::builder::PACE;
use super::context::{Context, Counters};
use super::logged::logged;
use super::merge::Survivor;
use super::waiting::Waiting;
use crate::entry::{EntryKind, Pointer};
use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::memory::Pinned;
use crate::vlog::{Request, ValueFileMeta, ValueGroup, ValueWriter, read_all, unread};

/// A value file ends when it holds about so many bytes: files with little use can then be given up one by one.
const FILE_BYTES: u64 = 128 << 20;

/// Where the value of an entry of a new table goes.
pub(super) enum Placed {
    /// It stays as it is in the entry: beside its key, or where a pointer leads.
    AsItIs,
    /// It lies at this place: in a value file that it was written into, or in its log.
    Apart(Pointer),
    /// It was apart from its key, and comes back to it.
    Beside,
}

/// Writes the values of new tables that are not stored beside their keys: long ones, and those in the files that
/// are to be emptied. Each of the new value files belongs to one table, since a table states the lengths of its files when
/// it ends; and to one [group](ValueGroup) of keys, if there are groups.
pub(super) struct Values<'a> {
    written: WrittenValues<'a>,
}

impl<'a> Values<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Values {
            written: WrittenValues {
                context,
                open: BTreeMap::new(),
                begun: Vec::new(),
                ended: BTreeMap::new(),
                unpaced: 0,
            },
        }
    }

    /// Where the value lies that has to be moved with an entry, since its file is to be emptied, or it comes back.
    #[inline]
    pub fn to_move(&self, entry: &Survivor<'_>) -> Option<Pointer> {
        let context = self.written.context;
        let moves = context.brings_back || !context.victims.is_empty();
        if entry.kind != EntryKind::Pointer || !moves {
            return None;
        }
        let pointer = Pointer::from_bytes(entry.value)?;
        let moves = context.brings_back || context.victims.contains(&pointer.file);
        moves.then_some(pointer)
    }

    /// The values that have to be moved with the entries of `waiting`, verified, in their order.
    pub fn read(&self, waiting: &Waiting) -> Result<Vec<Pinned>> {
        let context = self.written.context;
        let moved = waiting.entries();
        let moved = moved.filter_map(|(entry, to_move)| Some((entry.key, to_move?)));
        let requests = moved.enumerate().map(|(place, (key, pointer))| {
            let file = context.value_files.get(pointer.file).ok_or_else(|| {
                let path = context.files.path(FileKind::Values, pointer.file);
                let expected = "a value file that a table names";
                Error::corruption(&path, 0, expected, "none of this number")
            })?;
            Ok(Request {
                place,
                reader: file.file.reader()?,
                keyspace: context.keyspace,
                key,
                pointer,
            })
        });
        let requests: Vec<Request<'_>> = requests.collect::<Result<_>>()?;
        let mut values = unread(requests.len());
        read_all(&requests, context.files.access, false, &mut values);
        values.into_iter().collect()
    }

    /// Writes the value of an entry into a value file, if it belongs there and does not lie in one that stays.
    /// `moved` is the value that has to be moved with it.
    #[inline]
    pub fn place(&mut self, entry: &Survivor<'_>, moved: Option<&[u8]>) -> Result<Placed> {
        let context = self.written.context;
        if let Some(value) = moved {
            Counters::add(&context.counters.moved_bytes, value.len() as u64);
            let pointer = self.written.append(entry.key, value)?;
            return Ok(pointer.map_or(Placed::Beside, Placed::Apart));
        }
        let apart = match entry.kind {
            EntryKind::Put if context.table.separate_values.is_none() => None,
            EntryKind::Put => match logged(context, entry) {
                Some(pointer) => Some(pointer),
                None => self.written.append(entry.key, entry.value)?,
            },
            _ => None,
        };
        Ok(apart.map_or(Placed::AsItIs, Placed::Apart))
    }

    /// Ends the open files, durably but for their names.
    pub fn close(&mut self) -> Result<()> {
        self.written.close()
    }

    /// The length and group of a file that was ended, or that tables of the keyspace name.
    pub fn meta_of(&self, number: u64) -> Option<ValueFileMeta> {
        let WrittenValues { ended, context, .. } = &self.written;
        let log = || {
            let log = context.logged.iter().find(|log| log.number == number)?;
            let (bytes, group) = (log.bytes, None);
            Some(ValueFileMeta { bytes, group })
        };
        let known = || context.value_files.meta_of(number);
        let new = ended.get(&number).copied();
        new.or_else(log).or_else(known)
    }

    /// The numbers and lengths of the files that were ended.
    pub fn take_ended(&mut self) -> Vec<(u64, u64)> {
        let ended = mem::take(&mut self.written.ended).into_iter();
        ended.map(|(number, meta)| (number, meta.bytes)).collect()
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
    /// The open file of each group, or the one for all keys.
    open: BTreeMap<Option<ValueGroup>, ValueWriter>,
    /// The numbers of all files that were begun.
    begun: Vec<u64>,
    /// The files that were ended, by number.
    ended: BTreeMap<u64, ValueFileMeta>,
    /// The bytes that were written since the last pause.
    unpaced: u64,
}

impl WrittenValues<'_> {
    /// Writes a value into the open file of its group, if it is large enough. Returns where it lies.
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Pointer>> {
        let context = self.context;
        let least = context.table.separate_values;
        if least.is_none_or(|least| value.len() < least as usize) {
            return Ok(None);
        }
        let groups = context.table.groups();
        let group = groups.map(|groups| ValueGroup::of_key(key, groups));
        let is_full = |open: &ValueWriter| open.bytes() >= FILE_BYTES;
        if self.open.get(&group).is_some_and(is_full)
            && let Some(full) = self.open.remove(&group)
        {
            self.end(group, full)?;
        }
        let open = match self.open.entry(group) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(none) => {
                let files = context.files;
                let number = files.new_number();
                if Pointer::new(number, 0, 0).is_none() {
                    return Ok(None);
                }
                let at_a_time = groups.map_or(1, |groups| groups.get().into());
                let (fs, dir) = (&files.fs, &files.dir);
                let new = ValueWriter::create(fs, dir, number, context.keyspace, at_a_time)?;
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
        while let Some((group, open)) = self.open.pop_first() {
            self.end(group, open)?;
        }
        Ok(())
    }

    fn end(&mut self, group: Option<ValueGroup>, mut open: ValueWriter) -> Result<()> {
        open.finish()?;
        let bytes = open.bytes();
        let meta = ValueFileMeta { bytes, group };
        self.ended.insert(open.number(), meta);
        Counters::add_time(&self.context.counters.write_nanos, open.write_time());
        Ok(())
    }
}
