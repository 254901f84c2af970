//! The order in which the keys of an input become records.

use crate::data::Random;
use crate::error::{Error, Result};

/// Numbers the keys in the order of insertion: record 0 is inserted first. A rank is a key's place
/// in ascending order.
#[derive(Debug)]
pub struct Order {
    /// The rank of each record.
    ranks: Vec<u32>,
    /// The record of each rank.
    records: Vec<u32>,
}

impl Order {
    /// A random order, as YCSB's `insertorder=hashed`.
    ///
    /// # Errors
    /// If the number of keys does not fit into 32 bits.
    pub fn hashed(keys: usize, seed: u64) -> Result<Order> {
        let keys = count(keys)?;
        let ranks = Random::new(seed, 0x6f72).order(keys);
        Order::first_seen(keys as usize, ranks)
    }

    /// Orders ranks by their first places in a sequence that has every rank at least once.
    ///
    /// # Errors
    /// If a rank is missing or too large.
    pub fn first_seen(keys: usize, sequence: impl IntoIterator<Item = u32>) -> Result<Order> {
        const NONE: u32 = u32::MAX;
        let mut records = vec![NONE; count(keys)? as usize];
        let mut ranks = Vec::with_capacity(keys);
        for rank in sequence {
            let Some(record) = records.get_mut(rank as usize) else {
                return Err(Error::Usage(format!(
                    "an order of {keys} keys has rank {rank}: make the order from the same keys"
                )));
            };
            if *record == NONE {
                *record = ranks.len() as u32;
                ranks.push(rank);
            }
        }
        if ranks.len() < keys {
            return Err(Error::Usage(format!(
                "an order has {} of {keys} ranks: make the order from the same keys",
                ranks.len()
            )));
        }
        Ok(Order { ranks, records })
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The rank of a record.
    pub fn rank(&self, record: u64) -> usize {
        self.ranks[record as usize] as usize
    }

    /// The record of a rank.
    pub fn record(&self, rank: usize) -> u64 {
        u64::from(self.records[rank])
    }

    /// The ranks of the first `records` records.
    pub fn first(&self, records: usize) -> &[u32] {
        &self.ranks[..records]
    }
}

fn count(keys: usize) -> Result<u32> {
    let count = u32::try_from(keys).ok().filter(|keys| *keys < u32::MAX);
    count.ok_or_else(|| {
        Error::Usage(format!(
            "{keys} keys are too many for a workload: take fewer than {}",
            u32::MAX
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_records_are_each_others_inverse() {
        let hashed = Order::hashed(1_000, 4).unwrap();
        let ordered = Order::first_seen(1_000, 0..1_000).unwrap();
        for order in [&hashed, &ordered] {
            assert_eq!(order.len(), 1_000);
            assert!((0..1_000).all(|record| order.record(order.rank(record)) == record));
        }
        assert!((0..1_000).all(|record| ordered.rank(record) == record as usize));
        assert_ne!(hashed.first(1_000), ordered.first(1_000));
        assert_eq!(
            hashed.first(1_000),
            Order::hashed(1_000, 4).unwrap().first(1_000)
        );
        assert_ne!(
            hashed.first(1_000),
            Order::hashed(1_000, 5).unwrap().first(1_000)
        );
    }

    #[test]
    fn repeats_change_nothing_and_gaps_are_errors() {
        let order = Order::first_seen(3, [2, 2, 0, 2, 1, 0]).unwrap();
        assert_eq!(order.first(3), [2, 0, 1]);
        for (sequence, part) in [
            (vec![0, 1, 3], "has rank 3"),
            (vec![0, 1, 1], "has 2 of 3 ranks"),
        ] {
            let error = Order::first_seen(3, sequence).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
