//! Checks a whole table: every block, every key, and that all that finds them does.

use std::cmp::Ordering;

use rhumb_index::{Position, Probe};

use super::filter::hash_key;
use super::load::{BlockSource, LoadedBlock};
use super::reader::TableReader;
use super::summary::sequences;
use crate::entry::{EntryKind, Sequence};
use crate::error::{Error, Result};

/// What a sound table was found to hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VerifyReport {
    pub blocks: u64,
    pub entries: u64,
    pub deletes: u64,
    /// Distinct user keys.
    pub keys: u64,
    /// Bytes of the raw blocks.
    pub raw_bytes: u64,
}

/// Where a verification stands.
#[derive(Debug, Default)]
struct Walk {
    report: VerifyReport,
    /// Bytes of the largest raw block.
    raw_largest: u64,
    first_key: Vec<u8>,
    /// The least and the greatest sequence.
    sequences: Option<(Sequence, Sequence)>,
    key: Vec<u8>,
    last_key: Vec<u8>,
    last_sequence: Sequence,
}

impl TableReader {
    /// Reads every block past the cache and checks checksums, order, counts and ranks, what the
    /// properties say of the entries, and that the filter holds and the index finds every key. `progress` is told the blocks done and their
    /// number.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyReport> {
        let mut walk = Walk::default();
        for number in 0..self.directory.blocks() {
            let block = self.block_from_file(number)?;
            self.verify_block(&block, &mut walk)?;
            walk.report.blocks += 1;
            progress(walk.report.blocks, self.directory.blocks());
        }
        self.verify_counts(&walk)?;
        self.verify_keys(&walk)?;
        Ok(walk.report)
    }

    fn verify_counts(&self, walk: &Walk) -> Result<()> {
        let named = |name: &str| self.properties().number(name).unwrap_or(0);
        let report = &walk.report;
        let (least, greatest) = sequences(walk.sequences, &self.range_deletes);
        for (what, expected, found) in [
            ("entries", self.directory.entries(), report.entries),
            ("keys", self.directory.ranks(), report.keys),
            ("deletes", named("deletes"), report.deletes),
            ("as least sequence", named("sequence.smallest"), least),
            ("as greatest sequence", named("sequence.largest"), greatest),
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
            if slot == 0 && view.continues() != repeats {
                let expected = format!("the block marked as continuing: {repeats}");
                return Err(self.unsound(number, expected, view.continues()));
            }
            if !repeats {
                self.verify_found(&walk.key, walk.report.keys, number)?;
                walk.report.keys += 1;
            }
            let rank = walk.report.keys - 1;
            if slot == 0 && rank != self.directory.first_rank(number) {
                let found = self.directory.first_rank(number);
                return Err(self.unsound(number, format!("a first rank of {rank}"), found));
            }
            walk.report.entries += 1;
            walk.report.deletes += u64::from(view.kind(slot) == EntryKind::Delete);
            let (least, greatest) = walk.sequences.unwrap_or((sequence, sequence));
            walk.sequences = Some((least.min(sequence), greatest.max(sequence)));
            if first {
                walk.first_key.clone_from(&walk.key);
            }
            walk.last_sequence = sequence;
            std::mem::swap(&mut walk.last_key, &mut walk.key);
        }
        Ok(())
    }

    /// Checks that filter and index know the key with this rank, which starts in `block`.
    fn verify_found(&self, key: &[u8], rank: u64, block: u64) -> Result<()> {
        if self
            .filter
            .as_ref()
            .is_some_and(|f| !f.may_contain(hash_key(key)))
        {
            return Err(self.unsound(block, format!("key {rank} in the filter"), "not there"));
        }
        let number = self.key_map.number(key);
        let position = self.index.locate(Probe { key, number });
        let found = match position {
            Position::Block(found) => found == block,
            Position::Window(window) => (window.lo..window.hi).contains(&rank),
        };
        if !found {
            let expected = format!("key {rank} where the index says, in block {block}");
            return Err(self.unsound(block, expected, format!("{position:?}")));
        }
        Ok(())
    }

    fn unsound(&self, block: u64, expected: impl ToString, found: impl ToString) -> Error {
        let offset = self
            .directory
            .extent(block)
            .map_or(self.sections_offset, |(at, _)| at);
        Error::corruption(&self.path, offset, expected, found)
    }
}
