//! Directories of each form decode as written, and hostile ones give answers inside the table.

use super::test_seed;
use crate::table::form::column::COLUMN_HEADER_BYTES;
use crate::table::form::damage::Damage;
use crate::table::form::directory::{Arrangement, Directory, DirectoryBuilder, Stride};
use crate::table::form::units::{UnitShape, Units};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const RANKS: Arrangement<'_> = Arrangement::Ranked {
    entries_per_cell: 0,
};

fn built(offsets: &[u64], first_ranks: &[u64], end: u64, ranks: u64) -> Vec<u8> {
    let mut builder = DirectoryBuilder {
        offsets: offsets.to_vec(),
        first_ranks: first_ranks.to_vec(),
    };
    builder.close(end, ranks);
    builder.encode(ranks, RANKS).unwrap()
}

#[test]
fn uniform_blocks_cost_nothing() {
    let offsets: Vec<u64> = (0..1000).map(|i| i * 4096).collect();
    let ranks: Vec<u64> = (0..1000).map(|i| i * 37).collect();
    let bytes = built(&offsets, &ranks, 4_096_000, 37_000);
    assert_eq!(bytes.len(), 32 + 2 * COLUMN_HEADER_BYTES);
    let directory = Directory::decode(&bytes, 4_096_000).unwrap();
    for i in 0..1000 {
        assert_eq!(directory.extent(i), Some((i * 4096, 4096)));
        assert_eq!(directory.block_of_rank(i * 37 + 36), i);
        assert_eq!(directory.block_of_rank(i * 37), i);
    }
    assert_eq!(directory.extent(1000), None);
}

#[test]
fn ragged_blocks_come_back_and_are_found_by_rank() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..300 {
        let blocks = rng.random_range(1..200);
        let (mut offset, mut rank) = (0, 0);
        let (mut offsets, mut ranks) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            offsets.push(offset);
            ranks.push(rank);
            offset += 33 + (rng.random::<u64>() >> rng.random_range(40..64));
            rank += rng.random::<u64>() >> rng.random_range(57..64);
        }
        rank += 1;
        // The rank of a block's first key must be below the number of keys.
        let mut builder = DirectoryBuilder {
            offsets: offsets.clone(),
            first_ranks: ranks.clone(),
        };
        builder.close(offset, rank);
        let bytes = builder.encode(rank.max(blocks), RANKS).unwrap();
        let directory = Directory::decode(&bytes, offset).unwrap();
        offsets.push(offset);
        for i in 0..blocks as usize {
            let len = (offsets[i + 1] - offsets[i]) as usize;
            assert_eq!(
                directory.extent(i as u64),
                Some((offsets[i], len)),
                "seed {seed}"
            );
            assert_eq!(directory.first_rank(i as u64), Some(ranks[i]));
        }
        for probe in 0..rank + 3 {
            let below = ranks.partition_point(|r| *r < probe);
            let expected = match ranks.get(below) {
                Some(r) if *r == probe => below,
                _ => below.saturating_sub(1),
            };
            assert_eq!(
                directory.block_of_rank(probe),
                expected as u64,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn equal_entries_need_no_offsets_and_predictions_no_ranks() {
    // Cells of 10 entries; block 3 continues the cell of block 2, block 5 is empty.
    let ranks = [0, 9, 20, 31, 33, 41, 41];
    let stride = Stride {
        overhead: 37,
        stride: 72,
    };
    let offset = |block: u64, rank: u64| block * 37 + rank * 72;
    let mut builder = DirectoryBuilder {
        offsets: (0..).zip(ranks).map(|(b, r)| offset(b, r)).collect(),
        first_ranks: ranks.to_vec(),
    };
    builder.close(offset(7, 52), 52);
    for stride in [None, Some(stride)] {
        let placed = Arrangement::Placed {
            entries_per_cell: 10,
            thresholds: &[500],
            stride,
        };
        let bytes = builder.encode(52, placed).unwrap();
        let directory = Directory::decode(&bytes, offset(7, 52)).unwrap();
        assert!(directory.is_placed());
        let place = |f, number| directory.place(f, number).map(|p| (p.block, p.slot));
        assert_eq!(place(0, 0), Some((0, 0)));
        assert_eq!(place(27, 500), Some((2, 7)));
        assert_eq!(place(27, 501), Some((3, 7)));
        assert_eq!(place(30, 501), Some((4, 0)));
        assert_eq!(place(u64::MAX, 501), Some((6, 5)));
        for (block, (rank, next)) in (0..).zip(ranks.iter().zip(&ranks[1..])) {
            let (start, end) = (offset(block, *rank), offset(block + 1, *next));
            let len = (end - start) as usize;
            assert_eq!(directory.extent(block), Some((start, len)));
            let known = stride.map(|_| *rank);
            assert_eq!(directory.first_rank(block), known);
            let keys = stride.map_or(10, |_| next - rank);
            assert_eq!(directory.keys_in(block), keys);
        }
        assert!(Directory::decode(&bytes, offset(7, 52) + 1).is_err());
    }
}

#[test]
fn an_index_that_answers_with_blocks_needs_no_ranks() {
    let mut builder = DirectoryBuilder {
        offsets: vec![0, 100, 350],
        first_ranks: vec![0, 4, 9],
    };
    builder.close(500, 15);
    let fenced = Arrangement::Fenced {
        entries_per_cell: 0,
    };
    let bytes = builder.encode(15, fenced).unwrap();
    assert!(bytes.len() < builder.encode(15, RANKS).unwrap().len());
    let directory = Directory::decode(&bytes, 500).unwrap();
    assert!(!directory.has_ranks() && !directory.is_placed());
    let extents = [0, 1, 2, 3].map(|block| directory.extent(block));
    let expected = [Some((0, 100)), Some((100, 250)), Some((350, 150)), None];
    assert_eq!(extents, expected);
    assert_eq!((directory.first_rank(1), directory.keys_in(1)), (None, 5));
    assert!(Directory::decode(&bytes[..bytes.len() - 1], 500).is_err());
    assert!(Directory::decode(&[&bytes[..], &[0]].concat(), 500).is_err());
}

#[test]
fn blocks_behind_units_are_found_by_rank() {
    let shape = UnitShape {
        key: 8,
        value: 8,
        width: 0,
    };
    let mut units = Units::new(4, shape);
    [4, 4, 3].iter().for_each(|n| units.push(*n, 0));
    let end = units.end();
    // The first block behind the units goes on with the last key in them, or begins with the next.
    for first in [10, 11] {
        let mut builder = DirectoryBuilder {
            offsets: vec![0, 68, 136, end, end + 90],
            first_ranks: vec![0, 4, 8, first, 14],
        };
        builder.close(end + 200, 20);
        let bytes = builder.encode(21, Arrangement::Units(&units)).unwrap();
        let directory = Directory::decode(&bytes, end + 200).unwrap();
        let ranks = [0, 4, 8, first, 14];
        let places = [(0, 68), (68, 68), (136, 52), (end, 90), (end + 90, 110)];
        for (block, place) in (0..).zip(places) {
            assert_eq!(directory.extent(block), Some(place));
            assert_eq!(directory.first_rank(block), Some(ranks[block as usize]));
        }
        for rank in 0..23 {
            let block = match rank {
                0..11 => rank / 4,
                11..14 => 3,
                _ => 4,
            };
            assert_eq!(directory.block_of_rank(rank), block, "{rank}");
        }
        assert_eq!(directory.extent(5), None);
        assert!(Directory::decode(&bytes, end + 199).is_err());
        assert_eq!(directory.entries_per_cell(), 0);
        assert!(!directory.is_placed());
    }
    let mut builder = DirectoryBuilder {
        offsets: vec![0, 68, 136, end],
        first_ranks: vec![0, 4, 8, 9],
    };
    builder.close(end + 200, 20);
    let bytes = builder.encode(21, Arrangement::Units(&units)).unwrap();
    assert!(Directory::decode(&bytes, end + 200).is_err());
}

#[test]
fn a_form_of_a_later_version_is_not_taken_for_damage() {
    let mut bytes = built(&[0], &[0], 100, 5);
    bytes[28] = 5;
    let unknown = Damage::unsupported("directories of form 5");
    assert_eq!(Directory::decode(&bytes, 100).unwrap_err(), unknown);
}

#[test]
fn hostile_directories_answer_something_inside() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let offsets: Vec<u64> = (0..50).map(|i| i * 4000 + i * i).collect();
    let ranks: Vec<u64> = (0..50).map(|i| i * 30 + i % 7).collect();
    let stride = Stride {
        overhead: 40,
        stride: 149,
    };
    let placed = |stride| Arrangement::Placed {
        entries_per_cell: 30,
        thresholds: &[5, 5, 9, u64::MAX],
        stride,
    };
    let mut decoded = 0;
    // 20 units of 30 entries of 20 bytes, followed by the other blocks.
    let shape = UnitShape {
        key: 8,
        value: 12,
        width: 0,
    };
    let mut units = Units::new(30, shape);
    (0..20).for_each(|_| units.push(30, 0));
    for arrangement in [
        RANKS,
        placed(None),
        placed(Some(stride)),
        Arrangement::Units(&units),
        Arrangement::Fenced {
            entries_per_cell: 30,
        },
    ] {
        let mut builder = DirectoryBuilder {
            offsets: offsets.clone(),
            first_ranks: ranks.clone(),
        };
        if let Arrangement::Units(units) = arrangement {
            (builder.offsets[20], builder.first_ranks[20]) = (units.end(), units.ranks());
        }
        builder.close(300_000, 2_000);
        let bytes = builder.encode(2_000, arrangement).unwrap();
        Directory::decode(&bytes, 300_000).unwrap();
        for _ in 0..10_000 {
            let mut bytes = bytes.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = rng.random();
            }
            let Ok(directory) = Directory::decode(&bytes, 300_000) else {
                continue;
            };
            decoded += 1;
            for probe in [0, 1, 29, 777, 1999, 2000, u64::MAX, rng.random()] {
                assert!(
                    directory.block_of_rank(probe) < directory.blocks(),
                    "seed {seed}"
                );
                let place = directory.place(probe, rng.random());
                assert!(
                    place.is_none_or(|p| p.block < directory.blocks()),
                    "seed {seed}"
                );
                if let Some((start, len)) = directory.extent(probe) {
                    assert!(start + len as u64 <= 300_000, "seed {seed}");
                }
            }
        }
    }
    assert!(decoded > 1000, "only {decoded} mutations were decoded");
}
