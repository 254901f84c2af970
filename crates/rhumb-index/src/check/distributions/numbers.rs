//! Integers, as keys of 8 big-endian bytes.

use super::Row;
use crate::check::SplitMix64;

pub(super) const ALL: &[Row] = &[
    ("none", |_, _| Vec::new()),
    ("one", |_, _| keys([42])),
    ("two", |_, _| keys([7, 1 << 60])),
    ("zero-and-max", |_, _| keys([0, u64::MAX])),
    ("ends", |_, _| {
        keys([0, 1, 2, u64::MAX - 2, u64::MAX - 1, u64::MAX])
    }),
    ("consecutive", |_, n| keys(0..n as u64)),
    ("consecutive-4097", |_, _| keys(1_000_000..1_004_097)),
    ("consecutive-to-max", |_, n| {
        keys(u64::MAX - n as u64..=u64::MAX)
    }),
    ("stride-1000", |_, n| keys((0..n as u64).map(|i| i * 1000))),
    ("stride-of-all", |_, n| {
        keys((0..n as u64).map(|i| i * (u64::MAX / (n as u64 + 1))))
    }),
    ("uniform", |r, n| keys((0..n).map(|_| r.next_u64()))),
    ("uniform-32-bit", |r, n| {
        keys((0..n).map(|_| r.below(1 << 32)))
    }),
    ("uniform-crowded", |r, n| {
        keys((0..n).map(|_| r.below(n as u64 * 2)))
    }),
    ("normal", |r, n| {
        keys((0..n).map(|_| (2f64.powi(63) + r.normal() * 1e15) as u64))
    }),
    ("lognormal", |r, n| {
        keys((0..n).map(|_| ((r.normal() * 2.0).exp() * 1e9) as u64))
    }),
    ("exponential", |r, n| {
        keys((0..n).map(|_| (-(1.0 - r.fraction()).ln() * 1e12) as u64))
    }),
    ("heavy-tailed-gaps", |r, n| {
        gaps(n, 0, |_| {
            (1.0 / (1.0 - r.fraction()).powf(1.5)).min(1e9) as u64 + 1
        })
    }),
    ("bursts", |r, n| {
        gaps(n, 1 << 40, |i| {
            if i % 100 == 0 {
                r.below(1 << 30) + 1
            } else {
                1
            }
        })
    }),
    ("alternating-gaps", |_, n| {
        gaps(n, 0, |i| if i / 50 % 2 == 0 { 1 } else { 1_000_000 })
    }),
    ("sawtooth-gaps", |_, n| gaps(n, 9, |i| 1 + i % 257)),
    ("clusters", clusters),
    ("huge-gap", |r, n| {
        let ends = [0, u64::MAX - (1 << 20)];
        keys((0..n).map(|i| ends[i % 2] + r.below(1 << 20)))
    }),
    ("near-2^53", |r, n| around(r, n, 1 << 53)),
    ("near-2^63", |r, n| around(r, n, 1 << 63)),
    ("near-max", |r, n| {
        keys((0..n).map(|_| u64::MAX - r.below(3 * n as u64)))
    }),
    ("far-from-zero", |_, n| {
        keys([0].into_iter().chain((0..n as u64).map(|i| (1 << 62) + i)))
    }),
    ("late-outliers", |r, n| {
        let late = (0..21).map(|i| u64::MAX - (i << 56));
        keys(
            (0..n as u64)
                .map(|_| r.below(1 << 30))
                .collect::<Vec<_>>()
                .into_iter()
                .chain(late),
        )
    }),
    ("early-outliers", |_, n| {
        keys(
            (0..21u64)
                .map(|i| i << 40)
                .chain((0..n as u64).map(|i| (1 << 63) + i * 3)),
        )
    }),
    ("powers-of-two", |_, _| {
        keys((1..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]))
    }),
    ("few-bits", |r, n| {
        keys((0..n).map(|_| 1 << r.below(64) | 1 << r.below(64) | 1 << r.below(64)))
    }),
    ("squares", |_, n| keys((0..n as u64).map(|i| i * i))),
    ("square-roots", |_, n| {
        keys((0..n).map(|i| ((i as f64).sqrt() * 1e6) as u64))
    }),
    ("holes", |r, n| {
        keys((0..n as u64).filter(|_| r.below(10) > 0))
    }),
    ("timestamps", |r, n| {
        gaps(n, 1_600_000_000_000_000, |_| r.below(2_000_000) + 1)
    }),
];

fn keys(numbers: impl IntoIterator<Item = u64>) -> Vec<Vec<u8>> {
    numbers
        .into_iter()
        .map(|number| number.to_be_bytes().to_vec())
        .collect()
}

/// Numbers from `start` on; `gap` gives the difference to the next number for each index.
fn gaps(count: usize, start: u64, mut gap: impl FnMut(u64) -> u64) -> Vec<Vec<u8>> {
    let places = 0..count as u64;
    keys(places.scan(start, |number, place| {
        *number = number.saturating_add(gap(place));
        Some(*number)
    }))
}

/// Numbers on both sides of a middle, about one in three.
fn around(random: &mut SplitMix64, count: usize, middle: u64) -> Vec<Vec<u8>> {
    let width = 3 * count as u64;
    keys((0..count).map(|_| middle - width / 2 + random.below(width)))
}

fn clusters(random: &mut SplitMix64, count: usize) -> Vec<Vec<u8>> {
    let centres: Vec<u64> = (0..20).map(|_| random.next_u64() >> 1).collect();
    keys((0..count).map(|i| centres[i % 20] + random.below(1 << (i % 20 + 10))))
}
