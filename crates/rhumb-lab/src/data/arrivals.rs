//! Keys, and the order in which they were written.

use std::ops::Range;

use super::Strings;

/// Ascending distinct keys, and the order in which they were written, if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    /// Ascending, distinct.
    pub keys: Strings,
    /// The rank of the key of each write. Every rank occurs; a repeated rank is an update.
    pub order: Option<Vec<u32>>,
}

impl Arrivals {
    /// The arrivals of numbers in the order of their writes; `keys` turns numbers into keys.
    pub fn new(writes: &[u64], keys: impl FnOnce(Vec<u64>) -> Strings) -> Arrivals {
        let mut sorted: Vec<(u64, usize)> = writes.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut distinct = Vec::new();
        let mut order = vec![0; writes.len()];
        for (number, place) in sorted {
            if distinct.last() != Some(&number) {
                distinct.push(number);
            }
            order[place] = distinct.len() as u32 - 1;
        }
        Arrivals {
            keys: keys(distinct),
            order: Some(order),
        }
    }

    /// At most about `count` of the keys, in contiguous runs (see [`runs`]), and the writes of
    /// these.
    pub fn at_most(self, count: usize) -> Arrivals {
        let all = self.keys.len();
        if count >= all {
            return self;
        }
        let kept = runs(all, count);
        let order = |order: Vec<u32>| renumber(&order, all, kept.iter().cloned().flatten());
        Arrivals {
            keys: self.keys.pick(&kept),
            order: self.order.map(order),
        }
    }
}

impl From<Strings> for Arrivals {
    /// Keys in no known order.
    fn from(keys: Strings) -> Arrivals {
        Arrivals { keys, order: None }
    }
}

/// An order of `all` ranks, restricted to the ranks of `kept`, which ascend, and renumbered.
pub fn renumber(order: &[u32], all: usize, kept: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut new = vec![None; all];
    for (number, rank) in kept.enumerate() {
        if let Some(new) = new.get_mut(rank) {
            *new = Some(number as u32);
        }
    }
    let renumbered = |rank: &u32| new.get(*rank as usize).copied().flatten();
    order.iter().filter_map(renumbered).collect()
}

/// Ranges of ranks that keep about `keep` of `len` ranks as contiguous runs, spread evenly, so that
/// neighbours inside a run stay neighbours.
pub fn runs(len: usize, keep: usize) -> Vec<Range<usize>> {
    const LONGEST: usize = 1_000;
    if keep >= len {
        return vec![Range { start: 0, end: len }];
    }
    let count = keep.div_ceil(LONGEST).max(1);
    let run = keep / count;
    (0..count)
        .map(|n| {
            let start = n * (len - run) / (count - 1).max(1);
            start..start + run
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_spread_over_the_whole() {
        assert_eq!(runs(10, 20), vec![Range { start: 0, end: 10 }]);
        let kept = runs(1_000_000, 10_000);
        assert_eq!(kept.len(), 10);
        assert_eq!(kept.iter().map(Range::len).sum::<usize>(), 10_000);
        assert_eq!((kept[0].start, kept[9].end), (0, 1_000_000));
        assert!(kept.windows(2).all(|w| w[0].end <= w[1].start));
        assert_eq!(runs(100, 7), vec![Range { start: 0, end: 7 }]);
    }

    #[test]
    fn writes_of_omitted_keys_are_omitted() {
        let letters = |numbers: Vec<u64>| {
            let mut keys = Strings::default();
            numbers.iter().for_each(|n| keys.push(&[b'a' + *n as u8]));
            keys
        };
        let all = Arrivals::new(&[4, 2, 9, 4, 0], letters);
        assert_eq!(all.order, Some(vec![2, 1, 3, 2, 0]));
        assert_eq!(all.clone().at_most(4), all);
        let some = all.clone().at_most(2);
        assert!(some.keys.iter().eq([b"a", b"c"]));
        assert_eq!(some.order, Some(vec![1, 0]));
        let order = all.order.unwrap();
        assert_eq!(renumber(&order, 4, [2, 3].into_iter()), [0, 1, 0]);
    }
}
