//! The records of one store: which records are present, their values, and the versions that a read
//! may find.

use std::sync::atomic::{AtomicU64, Ordering};

use super::order::Order;
use super::record::Record;
use crate::data::{Input, Pairs, Random};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::store::Store;

/// Bytes at the beginning of an updated value: its rank and version, both little-endian `u32`.
const MARK_BYTES: usize = 8;
const BATCH: usize = 1_000;

/// An input whose first records are in a store, and whose other records are inserted later. It
/// tracks all writes, so that every answer can be checked. It belongs to a single store.
#[derive(Debug)]
pub struct Population<'a> {
    /// The keys and the values to insert.
    pub input: &'a Input,
    order: &'a Order,
    /// The number of records that [`Population::load`] writes.
    loaded: usize,
    records: Vec<Record>,
    seed: u64,
    /// The number of records that are present or being inserted.
    begun: AtomicU64,
    /// The number of present records; the inserts of all of them were confirmed.
    present: AtomicU64,
}

impl<'a> Population<'a> {
    /// A population with `loaded` records, which are in the store or will be after
    /// [`Population::load`]. The seed determines the values of updates.
    ///
    /// # Errors
    /// If the order is of other keys, or there are fewer than `loaded` keys.
    pub fn new(
        input: &'a Input,
        order: &'a Order,
        loaded: usize,
        seed: u64,
    ) -> Result<Population<'a>> {
        let keys = input.keys.len();
        if order.len() != keys || loaded > keys {
            return Err(Error::Usage(format!(
                "{loaded} records to load, an order of {}, and {keys} keys in {}: load at most all keys, \
                 in an order of the same keys",
                order.len(),
                input.name
            )));
        }
        let record = |number| {
            if number < loaded {
                Record::present()
            } else {
                Record::default()
            }
        };
        Ok(Population {
            input,
            order,
            loaded,
            records: (0..keys).map(record).collect(),
            seed,
            begun: AtomicU64::new(loaded as u64),
            present: AtomicU64::new(loaded as u64),
        })
    }

    /// Writes the records to load, in their order.
    ///
    /// # Errors
    /// Any error of the store, or Ctrl-C.
    pub fn load(&self, store: &dyn Store, progress: &Progress) -> Result<()> {
        let ranks = self.order.first(self.loaded);
        progress.stage(format!("{}: load", self.input.name), ranks.len());
        write_ranks(store, self.input, ranks, progress)
    }

    /// The number of present records. Records inserted out of order count when the records before
    /// them are inserted, as in YCSB.
    pub fn present(&self) -> u64 {
        self.present.load(Ordering::Acquire)
    }

    /// The number of records that are present or being inserted.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// The largest possible number of records.
    pub fn most(&self) -> u64 {
        self.records.len() as u64
    }

    /// Takes the next record to insert.
    ///
    /// # Errors
    /// If no record is left.
    pub fn begin_insert(&self) -> Result<u64> {
        let next = |begun: u64| (begun < self.most()).then_some(begun + 1);
        let taken = self
            .begun
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        taken.map_err(|all| {
            Error::Usage(format!(
                "all {all} keys of {} are inserted: load fewer records, or run fewer operations",
                self.input.name
            ))
        })
    }

    /// Records that the store has confirmed an insert.
    pub fn end_insert(&self, record: u64) {
        self.records[record as usize].set_present();
        // The thread that closes a gap advances the count past it. If its exchange fails, another
        // thread advances the count.
        loop {
            let present = self.present();
            let next = self.records.get(present as usize);
            if !next.is_some_and(Record::is_present) {
                return;
            }
            let _ = self.present.compare_exchange(
                present,
                present + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
        }
    }

    /// The rank of a record.
    pub fn rank(&self, record: u64) -> usize {
        self.order.rank(record)
    }

    /// The number and the state of the record with this rank.
    pub fn of_rank(&self, rank: usize) -> (u64, &Record) {
        let number = self.order.record(rank);
        (number, &self.records[number as usize])
    }

    /// Sets `into` to a version of the value of a rank. Version 0 is the input's own value. The
    /// other versions have the same length, at least 8 bytes: rank and version as little-endian
    /// `u32`, then incompressible bytes that depend on both.
    pub fn value(&self, rank: usize, version: u32, into: &mut Vec<u8>) {
        self.input.value(rank, into);
        if version == 0 {
            return;
        }
        let bytes = into.len().max(MARK_BYTES);
        into.clear();
        into.extend_from_slice(&(rank as u32).to_le_bytes());
        into.extend_from_slice(&version.to_le_bytes());
        let stream = (rank as u64) << 32 | u64::from(version);
        Random::new(self.seed ^ 0x7570_6461_7465, stream).fill(into, bytes - MARK_BYTES);
    }

    /// The version of a rank's value; `None` for other bytes. Overwrites `scratch`.
    pub fn version_of(&self, rank: usize, found: &[u8], scratch: &mut Vec<u8>) -> Option<u32> {
        if let Some((marked, version)) = mark(found)
            && marked as usize == rank
            && version > 0
        {
            self.value(rank, version, scratch);
            if scratch == found {
                return Some(version);
            }
        }
        self.value(rank, 0, scratch);
        (scratch == found).then_some(0)
    }
}

/// The rank and the version at the beginning of an updated value.
pub fn mark(value: &[u8]) -> Option<(u32, u32)> {
    let (rank, rest) = value.split_first_chunk()?;
    let (version, _) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*rank), u32::from_le_bytes(*version)))
}

/// Writes the input's pairs of some ranks, in batches of 1,000.
///
/// # Errors
/// Any error of the store, or Ctrl-C.
pub fn write_ranks(
    store: &dyn Store,
    input: &Input,
    ranks: &[u32],
    progress: &Progress,
) -> Result<()> {
    let (mut batch, mut value) = (Pairs::default(), Vec::new());
    for ranks in ranks.chunks(BATCH) {
        batch.clear();
        for rank in ranks {
            input.value(*rank as usize, &mut value);
            batch.push(input.keys.get(*rank as usize), &value);
        }
        store.write(&batch)?;
        progress.advance(ranks.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Sizes, uniform};

    fn input(bytes: usize) -> Input {
        Input::with_random_values("u", &uniform::keys(100, 1), Sizes::Fixed(bytes), 0, 1)
    }

    #[test]
    fn values_contain_their_rank_and_version() {
        for bytes in [3, 8, 20] {
            let (input, order) = (input(bytes), Order::hashed(100, 1).unwrap());
            let population = Population::new(&input, &order, 50, 9).unwrap();
            let (mut value, mut scratch) = (Vec::new(), Vec::new());
            for (rank, version) in [(0, 0), (7, 0), (7, 1), (7, 2), (99, 268_435_455)] {
                population.value(rank, version, &mut value);
                assert_eq!(value.len(), if version > 0 { bytes.max(8) } else { bytes });
                let version_of = |rank, value: &[u8], scratch: &mut Vec<u8>| {
                    population.version_of(rank, value, scratch)
                };
                assert_eq!(version_of(rank, &value, &mut scratch), Some(version));
                assert_eq!(
                    version_of(rank + 1 - 2 * (rank / 99), &value, &mut scratch),
                    None
                );
                for place in 0..value.len() {
                    value[place] ^= 1;
                    let found = version_of(rank, &value, &mut scratch);
                    // Eight bytes hold a rank and a version, so a flipped bit may give another
                    // version.
                    let other = version > 0 && bytes <= 8 && place >= 4;
                    assert!(found.is_none() || (other && found != Some(version)));
                    value[place] ^= 1;
                }
                assert_eq!(version_of(rank, &value[1..], &mut scratch), None);
            }
        }
    }

    #[test]
    fn inserts_out_of_order_count_when_the_gap_is_closed() {
        let (input, order) = (input(8), Order::first_seen(100, 0..100).unwrap());
        let population = Population::new(&input, &order, 96, 9).unwrap();
        let records: Vec<u64> = (0..4).map(|_| population.begin_insert().unwrap()).collect();
        assert_eq!(records, [96, 97, 98, 99]);
        assert_eq!((population.begun(), population.present()), (100, 96));
        for (record, present) in [(98, 96), (96, 97), (99, 97), (97, 100)] {
            population.end_insert(record);
            assert_eq!(population.present(), present);
        }
        let error = population.begin_insert().unwrap_err().to_string();
        assert!(error.contains("all 100 keys of u are inserted"), "{error}");
    }

    #[test]
    fn an_order_of_other_keys_is_an_error() {
        let (input, order) = (input(8), Order::first_seen(99, 0..99).unwrap());
        let error = Population::new(&input, &order, 50, 9)
            .unwrap_err()
            .to_string();
        assert!(error.contains("an order of 99, and 100 keys"), "{error}");
    }
}
