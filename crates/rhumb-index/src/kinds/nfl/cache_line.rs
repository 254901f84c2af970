//! The unit of the form: 64 bytes, one slot.
//!
//! ```text
//! wide bucket                                narrow bucket
//! offset  size                               offset  size
//!      0    48  six numbers, the unused           0     8  first number
//!               ones 2^64 - 1                     8    40  the others less that (u32 each),
//!     48     4  rank of the first                          the unused ones 2^32 - 1
//!     52    10  ranks of the others, less        48     4  rank of the first
//!               that (u16 each)                  52    10  ranks of the others, less that
//!     62     1  how many there are, 0 to 6       62     1  how many there are, 1 to 11
//!     63     1  0                                63     1  1
//!
//! dense node                                 node
//!      0    40  first numbers of buckets          0     8  base
//!               1 to 5, 2^64 - 1 for              8     8  factor
//!               buckets that do not exist        16     4  first line
//!     40     4  first line                       20     4  lines
//!     44    18  zero                             24     1  shift, 0 to 63
//!     62     1  buckets, 2 to 6                  25    38  zero
//!     63     1  2                                63     1  3
//! ```
//!
//! An empty bucket has the rank of the next greater number, so that it answers like any other. In a
//! narrow bucket the numbers are less than 2^32 - 1 above the first, and the ranks at most 255
//! above the first.

use super::model::Linear;
use crate::bytes::{u16_of, u32_of, u64_of};
use crate::kinds::shared::exact::Place;
use crate::kinds::shared::fixed_line::FixedLine;

/// Bytes of a line.
pub(super) const BYTES: usize = 64;

/// The most entries of a wide bucket.
const WIDE: usize = 6;

/// The most entries of a narrow bucket.
const NARROW: usize = 11;

/// The most buckets of a dense node.
const DENSE: usize = 6;

/// A cache line as stored.
pub(super) type CacheLine = [u8; BYTES];

const SHIFT: usize = 24;
const COUNT: usize = 62;
const TAG: usize = 63;
const TAG_WIDE: u8 = 0;
const TAG_NARROW: u8 = 1;
const TAG_DENSE: u8 = 2;
const TAG_NODE: u8 = 3;

/// The next step of a look-up after a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// The look-up is finished.
    Found(Place),
    /// Read this line next.
    Line(usize),
}

/// Writes bytes into a line.
fn put(line: &mut CacheLine, at: usize, bytes: &[u8]) {
    let room = line.iter_mut().skip(at);
    room.zip(bytes).for_each(|(to, from)| *to = *from);
}

/// The estimated number of entries that fill one bucket.
pub(super) fn capacity(entries: &[(u64, u64)]) -> usize {
    if are_near(entries) { NARROW } else { WIDE }
}

/// Whether narrow buckets would hold most of the entries, assuming that the middle half of them is
/// evenly spread.
pub(super) fn are_near(entries: &[(u64, u64)]) -> bool {
    let (low, high) = (entries.len() / 4, entries.len() * 3 / 4);
    let (Some(first), Some(last)) = (entries.get(low), entries.get(high)) else {
        return false;
    };
    let apart = (high - low).max(1) as u128;
    let of_a_bucket = |distance: u64| u128::from(distance) * NARROW as u128 / apart;
    of_a_bucket(last.0 - first.0) < u128::from(u32::MAX)
        && of_a_bucket(last.1 - first.1) <= u128::from(u8::MAX)
}

/// The estimated number of buckets that entries take; `None` if they need a node with a model.
pub(super) fn buckets(entries: &[(u64, u64)]) -> Option<usize> {
    let buckets = entries.len().div_ceil(capacity(entries));
    (buckets <= DENSE).then_some(buckets)
}

/// How many of the first entries fit into one bucket.
fn held(entries: &[(u64, u64)]) -> usize {
    let first = entries.first().copied().unwrap_or_default();
    let fits = |entry: &&(u64, u64)| fits_narrow(first, **entry);
    let narrow = entries.iter().take(NARROW).take_while(fits).count();
    narrow.max(entries.len().min(WIDE))
}

/// Whether a narrow bucket with this first entry can hold a greater one.
fn fits_narrow(first: (u64, u64), other: (u64, u64)) -> bool {
    other.0 - first.0 < u64::from(u32::MAX) && other.1 - first.1 <= u64::from(u8::MAX)
}

/// The entries of each bucket, for a slot with one bucket or a dense node; `None` if there are too
/// many.
pub(super) fn divided(mut entries: &[(u64, u64)]) -> Option<Vec<&[(u64, u64)]>> {
    let mut buckets = Vec::with_capacity(1);
    while !entries.is_empty() {
        if buckets.len() == DENSE {
            return None;
        }
        let (bucket, rest) = entries.split_at_checked(held(entries))?;
        buckets.push(bucket);
        entries = rest;
    }
    Some(buckets)
}

/// A bucket of entries that fit into one, each a number and its rank. A rank is at most 1024 above
/// the one before. A bucket is narrow where it must be, and also where it can be if `among_narrow`:
/// mixed forms cost look-ups time because the branch on the form is mispredicted.
pub(super) fn bucket(entries: &[(u64, u64)], among_narrow: bool) -> CacheLine {
    let mut line = [0xff; BYTES];
    put(&mut line, 48, &[0; 16]);
    let first = entries.first().copied().unwrap_or_default();
    let can_be = entries.last().is_some_and(|last| fits_narrow(first, *last));
    let is_narrow = entries.len() > WIDE || among_narrow && can_be;
    for (i, (number, rank)) in entries.iter().enumerate().take(NARROW) {
        let (apart, behind) = (number - first.0, rank - first.1);
        match (is_narrow, i) {
            (_, 0) => {
                put(&mut line, 0, &number.to_le_bytes());
                put(&mut line, 48, &(*rank as u32).to_le_bytes());
            }
            (false, _) => {
                put(&mut line, 8 * i, &number.to_le_bytes());
                put(&mut line, 50 + 2 * i, &(behind as u16).to_le_bytes());
            }
            (true, _) => {
                put(&mut line, 4 + 4 * i, &(apart as u32).to_le_bytes());
                put(&mut line, 51 + i, &[behind as u8]);
            }
        }
    }
    let tag = if is_narrow { TAG_NARROW } else { TAG_WIDE };
    put(&mut line, COUNT, &[entries.len() as u8, tag]);
    line
}

/// A bucket without entries; the next greater number has this rank.
pub(super) fn empty(rank: u64) -> CacheLine {
    let mut line = bucket(&[], false);
    put(&mut line, 48, &(rank as u32).to_le_bytes());
    line
}

/// The line of a dense node, whose buckets are the lines from `first_line` on.
pub(super) fn dense(buckets: &[&[(u64, u64)]], first_line: usize) -> CacheLine {
    let mut line = [0; BYTES];
    put(&mut line, 0, &[0xff; 40]);
    let firsts = buckets.iter().filter_map(|bucket| bucket.first());
    for (i, first) in firsts.skip(1).enumerate() {
        put(&mut line, 8 * i, &first.0.to_le_bytes());
    }
    put(&mut line, 40, &(first_line as u32).to_le_bytes());
    put(&mut line, COUNT, &[buckets.len() as u8, TAG_DENSE]);
    line
}

/// The line of a node with a model, whose slots are the lines from `first_line` on.
pub(super) fn node(model: &Linear, first_line: usize) -> CacheLine {
    let mut line = [0; BYTES];
    put(&mut line, 0, &model.line.base.to_le_bytes());
    put(&mut line, 8, &model.line.slope.to_le_bytes());
    put(&mut line, 16, &(first_line as u32).to_le_bytes());
    put(&mut line, 20, &model.lines.to_le_bytes());
    put(&mut line, SHIFT, &[model.shift]);
    put(&mut line, TAG, &[TAG_NODE]);
    line
}

/// Searches for a number in a line.
#[inline(always)]
pub(super) fn step(line: &CacheLine, number: u64) -> Step {
    let [.., count, tag] = *line;
    match tag {
        TAG_WIDE => Step::Found(in_wide(line, usize::from(count).min(WIDE), number)),
        TAG_NARROW => Step::Found(in_narrow(line, usize::from(count).min(NARROW), number)),
        TAG_DENSE => {
            let separators: [u64; DENSE - 1] = std::array::from_fn(|i| u64_of(line, i));
            let passed = separators.iter().filter(|first| **first <= number).count();
            // The greatest number passes unused separators too.
            let bucket = passed.min(usize::from(count).saturating_sub(1));
            Step::Line(u32_of(line, 10) as usize + bucket)
        }
        _ => {
            let model = Linear {
                line: FixedLine {
                    base: u64_of(line, 0),
                    slope: u64_of(line, 1),
                },
                shift: line[SHIFT],
                lines: u32_of(line, 5),
            };
            Step::Line(u32_of(line, 4) as usize + model.slot_of(number))
        }
    }
}

// Neither search below branches on the position of a number, which is unpredictable.

#[inline(always)]
fn in_wide(line: &CacheLine, count: usize, number: u64) -> Place {
    let below: usize = (0..WIDE)
        .map(|i| usize::from(u64_of(line, i) < number))
        .sum();
    let rank = |i: usize| {
        // The bytes before the second entry's offset belong to the first rank.
        let behind = u64::from(u16_of(line, 25 + i)) * u64::from(i > 0);
        u64::from(u32_of(line, 12)) + behind
    };
    if below < count {
        Place::of(u64_of(line, below), rank(below), number)
    } else if count > 0 {
        Place::After(rank(count - 1))
    } else {
        Place::Before(rank(0))
    }
}

#[inline(always)]
fn in_narrow(line: &CacheLine, count: usize, number: u64) -> Place {
    let rank = |i: usize| {
        let behind = line.get(51 + i).map_or(0, |behind| u64::from(*behind));
        u64::from(u32_of(line, 12)) + behind * u64::from(i > 0)
    };
    let Some(apart) = number.checked_sub(u64_of(line, 0)) else {
        return Place::Before(rank(0));
    };
    // A larger distance than a bucket can hold is above all of its numbers.
    let apart = apart.min(u64::from(u32::MAX)) as u32;
    let others = (2..1 + NARROW).map(|i| u32_of(line, i));
    let below: u32 = others.map(|other| u32::from(other < apart)).sum();
    let below = below as usize + usize::from(apart > 0);
    if below < count {
        match (below == 0) | (u32_of(line, 1 + below) == apart) {
            true => Place::At(rank(below)),
            false => Place::Before(rank(below)),
        }
    } else {
        Place::After(rank(count.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks up each number of a bucket and its neighbours.
    fn check(entries: &[(u64, u64)]) {
        check_as(entries, false);
        check_as(entries, true);
    }

    fn check_as(entries: &[(u64, u64)], among_narrow: bool) {
        let line = bucket(entries, among_narrow);
        for (i, (number, rank)) in entries.iter().enumerate() {
            assert_eq!(step(&line, *number), Step::Found(Place::At(*rank)));
            let below = number.checked_sub(1).map(|below| step(&line, below));
            let is_next = i > 0 && entries[i - 1].0 + 1 == *number;
            if !is_next {
                let expected = below.map(|_| Step::Found(Place::Before(*rank)));
                assert_eq!(below, expected, "{entries:?}");
            }
        }
        let last = entries[entries.len() - 1];
        for above in [1, 1 << 20, u64::from(u32::MAX), 1 << 40, u64::MAX - last.0] {
            if let Some(above) = last.0.checked_add(above).filter(|above| *above > last.0) {
                assert_eq!(step(&line, above), Step::Found(Place::After(last.1)));
            }
        }
    }

    #[test]
    fn a_bucket_orders_every_number() {
        for count in 1..=WIDE as u64 {
            for top in [0, u64::MAX - 9 * (count - 1) - 3] {
                let entries = (0..count).map(|i| (top + 3 + 9 * i, 70 + 1000 * i));
                check(&entries.collect::<Vec<_>>());
            }
        }
        for count in WIDE as u64 + 1..=NARROW as u64 {
            let widest = (u64::from(u32::MAX) - 1) / (count - 1);
            for apart in [1, 2, widest] {
                for top in [0, 1 << 40, u64::MAX - apart * (count - 1)] {
                    let entries = (0..count).map(|i| (top + apart * i, 70 + 25 * i));
                    let entries = entries.collect::<Vec<_>>();
                    assert_eq!(held(&entries), entries.len());
                    check(&entries);
                }
            }
        }
        assert_eq!(step(&empty(9), u64::MAX), Step::Found(Place::Before(9)));
        let last = u64::from(u32::MAX);
        assert_eq!(step(&empty(last), 0), Step::Found(Place::Before(last)));
    }

    #[test]
    fn buckets_hold_as_many_entries_as_fit() {
        let apart = |apart: u64, ranks: u64| {
            let entries: Vec<_> = (0..16).map(|i| (i * apart, i * ranks)).collect();
            held(&entries)
        };
        assert_eq!([apart(1, 1), apart(1, 25), apart(1, 26)], [11, 11, 10]);
        assert_eq!([apart(1, 1000), apart(1 << 60, 1)], [6, 6]);
        assert_eq!([apart(1 << 29, 1), apart((1 << 29) - 1, 1)], [8, 9]);
        let entries: Vec<_> = (0..200).map(|i| (i, i)).collect();
        assert_eq!(divided(&entries[..66]).map(|all| all.len()), Some(6));
        assert_eq!(divided(&entries[..67]), None);
        assert_eq!(divided(&entries[..1]).map(|all| all.len()), Some(1));
    }

    #[test]
    fn separators_lead_to_the_bucket() {
        for (count, apart) in [(7, 1 << 50), (36, 1 << 50), (12, 3), (66, 2)] {
            let number = |i: u64| u64::MAX - apart * (count - 1 - i);
            let entries: Vec<_> = (0..count).map(|i| (number(i), i)).collect();
            let buckets = divided(&entries).unwrap();
            let line = dense(&buckets, 40);
            for (at, bucket) in (40..).zip(buckets) {
                for (number, _) in bucket {
                    assert_eq!(step(&line, *number), Step::Line(at));
                }
                let below = (at - 40).saturating_sub(1) + 40;
                assert_eq!(step(&line, bucket[0].0 - 1), Step::Line(below));
            }
        }
    }
}
