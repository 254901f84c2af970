//! Checks a whole table: every block and every key, and that filter, index and directory find them.

use std::cmp::Ordering;
use std::mem;

use rhumb_index::{Position, Probe};

use crate::entry::{EntryKind, Sequence};
use crate::error::{Error, Result};
use crate::options::Partition;
use crate::table::block::Fence;
use crate::table::form::filter::hash_key;
use crate::table::form::summary::sequences;
use crate::table::read::loaded::LoadedBlock;
use crate::table::read::reader::TableReader;
use crate::table::read::source::BlockSource;

/// The contents of a table that passed verification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TableReport {
    pub blocks: u64,
    pub entries: u64,
    pub deletes: u64,
    /// Distinct user keys.
    pub keys: u64,
    /// Bytes of the raw blocks.
    pub raw_bytes: u64,
}

/// The state of a verification.
#[derive(Debug, Default)]
struct Walk {
    report: TableReport,
    /// Entries that point to values.
    pointers: u64,
    /// Bytes of the largest raw block.
    raw_largest: u64,
    /// The most bytes of a raw block with several entries, if the table promises a bound.
    most_bytes: Option<u64>,
    first_key: Vec<u8>,
    /// The smallest and the largest sequence.
    sequences: Option<(Sequence, Sequence)>,
    key: Vec<u8>,
    last_key: Vec<u8>,
    last_sequence: Sequence,
    /// The last block with entries.
    last_block: Option<u64>,
    /// The high fence of the last block with entries.
    fence: Fence,
    /// The number of the last key, and the block in which the first key with this number is.
    run: Option<(u64, u64)>,
}

impl TableReader {
    /// Reads every block, bypassing the cache, and checks checksums, order, counts, ranks and
    /// properties, and that the filter contains and the index finds every key. `progress` receives
    /// the number of blocks done and the total.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<TableReport> {
        let mut walk = Walk {
            most_bytes: match self.properties().partition() {
                Some(Partition::Dual(bytes)) => Some(bytes.into()),
                _ => None,
            },
            ..Walk::default()
        };
        for number in 0..self.directory.blocks() {
            let block = self.block_from_file(number)?;
            self.verify_block(&block, &mut walk)?;
            walk.report.blocks += 1;
            progress(walk.report.blocks, self.directory.blocks());
        }
        // Behind the last block there is no key.
        self.verify_fence(walk.last_block.unwrap_or(0), walk.fence, Fence::UNKNOWN)?;
        self.verify_counts(&walk)?;
        self.verify_keys(&walk)?;
        Ok(walk.report)
    }

    fn verify_counts(&self, walk: &Walk) -> Result<()> {
        let named = |name: &str| self.properties().number(name).unwrap_or(0);
        let (report, summary) = (&walk.report, self.summary());
        let pointers = summary.values.iter().map(|used| used.entries);
        let pointers = pointers.fold(0, u64::saturating_add);
        let (least, greatest) = sequences(walk.sequences, &self.range_deletes);
        for (what, expected, found) in [
            ("entries", self.directory.entries(), report.entries),
            ("keys", self.directory.ranks(), report.keys),
            ("deletes", named("deletes"), report.deletes),
            ("pointers to values", pointers, walk.pointers),
            ("as least sequence", summary.smallest_sequence, least),
            ("as greatest sequence", summary.largest_sequence, greatest),
            (
                "bytes in the largest raw block",
                named("raw_block.largest"),
                walk.raw_largest,
            ),
        ] {
            if expected != found {
                return Err(self.unsound(0, format!("{expected} {what}"), found));
            }
        }
        Ok(())
    }

    fn verify_keys(&self, walk: &Walk) -> Result<()> {
        let any = walk.report.entries > 0;
        for (what, name, found) in [
            ("first", "key.smallest", &walk.first_key),
            ("last", "key.largest", &walk.last_key),
        ] {
            let (expected, found) = (self.properties().bytes(name), any.then_some(&found[..]));
            if expected != found {
                let expected = format!("a {what} key of {expected:02x?}");
                return Err(self.unsound(0, expected, format!("{found:02x?}")));
            }
        }
        Ok(())
    }

    fn block_from_file(&self, number: u64) -> Result<LoadedBlock> {
        self.read_block(number, &mut BlockSource::new(false))
    }

    fn verify_block(&self, block: &LoadedBlock, walk: &mut Walk) -> Result<()> {
        let view = block.view();
        let number = block.number;
        let raw_bytes = block.bytes.len() as u64;
        walk.report.raw_bytes += raw_bytes;
        walk.raw_largest = walk.raw_largest.max(raw_bytes);
        if let Some(most) = walk.most_bytes.filter(|most| raw_bytes > *most)
            && view.count() > 1
        {
            let expected = format!("a block of at most {most} bytes, or of one entry");
            return Err(self.unsound(number, expected, format!("{raw_bytes} bytes")));
        }
        if view.count() == 0 {
            self.verify_empty(number)?;
            self.verify_rank(number, walk.report.keys)?;
            return Ok(());
        }
        for slot in 0..view.count() {
            view.key_into(slot, &mut walk.key);
            let sequence = view.sequence(slot);
            let first = walk.report.entries == 0;
            let order = if first {
                Ordering::Greater
            } else {
                walk.key.cmp(&walk.last_key)
            };
            let ascends = match order {
                Ordering::Less => false,
                Ordering::Equal => sequence < walk.last_sequence,
                Ordering::Greater => true,
            };
            if !ascends {
                return Err(self.unsound(number, "entries that ascend", format!("slot {slot}")));
            }
            let repeats = order == Ordering::Equal;
            if slot == 0 {
                self.verify_fences(block, walk)?;
            }
            if slot == 0 && view.continues() != repeats {
                let expected = format!("the block marked as continuing: {repeats}");
                return Err(self.unsound(number, expected, view.continues()));
            }
            if slot == 0 {
                self.verify_rank(number, walk.report.keys - u64::from(repeats))?;
            }
            if !repeats {
                self.verify_found(block, slot, walk)?;
                walk.report.keys += 1;
            }
            walk.report.entries += 1;
            walk.report.deletes += u64::from(view.kind(slot) == EntryKind::Delete);
            walk.pointers += u64::from(view.kind(slot) == EntryKind::Pointer);
            let (least, greatest) = walk.sequences.unwrap_or((sequence, sequence));
            walk.sequences = Some((least.min(sequence), greatest.max(sequence)));
            if first {
                walk.first_key.clone_from(&walk.key);
            }
            walk.last_sequence = sequence;
            mem::swap(&mut walk.last_key, &mut walk.key);
        }
        walk.last_block = Some(number);
        Ok(())
    }

    /// Checks that the fences of two blocks are made of the keys on both sides: the last one, and the current one, which is the
    /// first of its block.
    fn verify_fences(&self, block: &LoadedBlock, walk: &mut Walk) -> Result<()> {
        let [low, high] = block.view().fences();
        let (key, last) = (&walk.key[..], &walk.last_key[..]);
        let before = mem::replace(&mut walk.fence, high);
        let expected = match walk.report.entries {
            0 => [Fence::UNKNOWN; 2],
            _ => [Fence::between(last, key), Fence::between(key, last)],
        };
        let [high_before, low_here] = expected;
        self.verify_fence(walk.last_block.unwrap_or(0), before, high_before)?;
        self.verify_fence(block.number, low, low_here)
    }

    fn verify_fence(&self, block: u64, found: Fence, expected: Fence) -> Result<()> {
        match found.is_known() && found != expected {
            true => {
                let expected = format!("a fence key of {expected:?}, or an unknown one");
                Err(self.unsound(block, expected, format!("{found:?}")))
            }
            false => Ok(()),
        }
    }

    /// Checks that a block may be without entries.
    fn verify_empty(&self, block: u64) -> Result<()> {
        if self.directory.entries_per_cell() == 0 {
            let expected = "entries in each block of a table without cells";
            return Err(self.unsound(block, expected, "none"));
        }
        if block + 1 == self.directory.blocks() {
            return Err(self.unsound(block, "entries in the last block", "none"));
        }
        Ok(())
    }

    /// Checks that the directory has the rank of a block's first key; for a block without entries,
    /// the rank of the next key.
    fn verify_rank(&self, block: u64, rank: u64) -> Result<()> {
        match self.directory.first_rank(block) {
            Some(found) if found != rank => {
                Err(self.unsound(block, format!("a first rank of {rank}"), found))
            }
            _ => Ok(()),
        }
    }

    /// Checks that filter, index and placement find the current key, whose first entry is at `slot`
    /// of `block`.
    fn verify_found(&self, block: &LoadedBlock, slot: usize, walk: &mut Walk) -> Result<()> {
        let (key, rank, at) = (&walk.key[..], walk.report.keys, block.number);
        if self
            .filter
            .as_ref()
            .is_some_and(|f| !f.may_contain(hash_key(key)))
        {
            return Err(self.unsound(at, format!("key {rank} in the filter"), "not there"));
        }
        let own = self.own()?;
        let number = own.number_of(key);
        if walk.run.is_none_or(|(last, _)| last != number) {
            walk.run = Some((number, at));
        }
        let position = own.index.locate(Probe { key, number });
        let found = match position {
            // If the index gives an empty block, a search moves on to the next block.
            Position::Block(found) | Position::Slot { block: found, .. } => {
                found == at || found < at && walk.last_block.is_none_or(|last| last < found)
            }
            Position::Window(window) => (window.lo..window.hi).contains(&rank),
        };
        if !found {
            let expected = format!("key {rank} where the index says, in block {at}");
            return Err(self.unsound(at, expected, format!("{position:?}")));
        }
        if let Position::Slot { slot: expected, .. } = position {
            return self.verify_hint(block, slot, expected);
        }
        if !self.directory.is_placed() {
            return Ok(());
        }
        let predicted = own.index.predict(number);
        let place = predicted.and_then(|predicted| self.directory.place(predicted, number));
        let (_, first) = walk.run.unwrap_or_default();
        let Some(place) = place.filter(|place| place.block == first) else {
            let expected = format!("key {rank} placed in block {first}");
            return Err(self.unsound(at, expected, format!("{predicted:?} gives {place:?}")));
        };
        self.verify_hint(block, slot, place.slot)
    }

    /// Checks that a key at `slot` is as near to the slot where the model expects it as the block says.
    fn verify_hint(&self, block: &LoadedBlock, slot: usize, expected: u64) -> Result<()> {
        let behind = slot as i64 - i64::try_from(expected).unwrap_or(i64::MAX);
        match block.view().slot_hint() {
            Some((low, high)) if !(i64::from(low)..=i64::from(high)).contains(&behind) => {
                let near = format!("slot {slot} within the hint of {low} to {high}");
                Err(self.unsound(block.number, near, format!("{behind} from slot {expected}")))
            }
            _ => Ok(()),
        }
    }

    fn unsound(&self, block: u64, expected: impl ToString, found: impl ToString) -> Error {
        let offset = self
            .directory
            .extent(block)
            .map_or(self.sections_offset, |(at, _)| at);
        Error::corruption(&self.path, offset, expected, found)
    }
}
