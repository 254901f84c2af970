//! Cases that the tests over all kinds do not cover: every top, whether a cost model would choose
//! it or not, and predictions from segments that closed while keys were still being pushed.

use super::knots::Knots;
use super::{HistTree, KNOT, KNOTS_AT, Knot, RadixTable, Top};
use crate::check::{Case, SplitMix64, check, distributions};
use crate::{ClosedSegment, IndexBuilder, IndexSpec, Position, Probe, registry};

fn seed() -> u64 {
    let seed = std::env::var("RHUMB_SEED").map_or(77, |text| text.parse().unwrap());
    println!("replay with RHUMB_SEED={seed}");
    seed
}

/// The numbers of the distributions whose keys are integers.
fn number_sets(seed: u64, count: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = SplitMix64::new(seed);
    let sets = distributions::all().map(|set| (set.name, set.keys(&mut random, count)));
    let number = |key: &Vec<u8>| Some(u64::from_be_bytes(key.as_slice().try_into().ok()?));
    sets.filter_map(|(name, keys)| Some((name, keys.iter().map(number).collect::<Option<_>>()?)))
        .collect()
}

fn builder(spec: &str) -> Box<dyn IndexBuilder> {
    registry::builder(&spec.parse().unwrap()).unwrap()
}

#[test]
fn every_top_leads_to_the_right_knot() {
    for (name, numbers) in number_sets(seed(), 700) {
        let knots: Vec<Knot> = numbers
            .iter()
            .zip(0..)
            .map(|(&number, rank)| Knot { number, rank })
            .collect();
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
            continue;
        };
        let range = last - first;
        let tables = (0..=14).map(|bits| RadixTable::new(range, bits));
        let tables = tables.filter(|table| table.cells(range) < 1 << 20);
        let shapes = [1, 3, 4, 8].map(|bits| [1, 2, 9, 40].map(|limit| (bits, limit)));
        let trees = shapes.as_flattened().iter();
        let trees = trees.map(|&(bits, limit)| HistTree::new(range, bits, limit));
        for top in tables.map(Top::Radix).chain(trees.map(Top::Tree)) {
            leads_right(name, top, &knots, range);
        }
    }
}

/// Looks up every knot's number and its neighbours.
fn leads_right(name: &str, top: Top, knots: &[Knot], range: u64) {
    let bytes: Vec<[u8; KNOT]> = knots.iter().map(|knot| knot.to_bytes()).collect();
    let cells: Vec<[u8; 4]> = top
        .build(knots)
        .iter()
        .map(|cell| cell.to_le_bytes())
        .collect();
    let effort = top.check(&cells, range, knots.len());
    let effort = effort.unwrap_or_else(|| panic!("{name} {top:?}"));
    assert_eq!(Top::from_bytes(top.to_bytes()), Some(top));
    let first = knots[0].number;
    for (rank, knot) in knots.iter().enumerate() {
        for number in [
            knot.number.wrapping_sub(1),
            knot.number,
            knot.number.wrapping_add(1),
        ] {
            let above = number.min(first + range).saturating_sub(first);
            let (lo, hi) = top.find(&cells, effort, above);
            let found = Knots(&bytes).last_not_above(lo, hi, effort.halvings, number);
            let right = knots.partition_point(|knot| knot.number <= number);
            assert_eq!(
                found,
                right.saturating_sub(1),
                "{name} {top:?} {rank} {number}"
            );
        }
    }
    if let Top::Tree(tree) = top {
        let [survey] = tree.survey(knots, knots.len() as u64, [tree.limit]);
        assert_eq!(
            survey.levels.len(),
            effort.levels as usize,
            "{name} {top:?}"
        );
        let nodes: u64 = survey.levels.iter().map(|level| level.0).sum();
        assert_eq!(nodes << tree.bits, cells.len() as u64, "{name} {top:?}");
        assert_eq!(
            survey.leaves.iter().sum::<u64>(),
            knots.len() as u64,
            "{name} {top:?}"
        );
    }
}

#[test]
fn many_numbers_at_once_give_the_bytes_that_single_keys_give() {
    let seed = seed();
    let mut random = SplitMix64::new(seed);
    for (name, numbers) in number_sets(seed, 3000) {
        for spec in [
            "plex:boundary=5",
            "radix-spline:boundary=18",
            "plex:boundary=100",
        ] {
            let (mut single, mut many) = (builder(spec), builder(spec));
            for number in &numbers {
                single.push(&number.to_be_bytes(), *number).unwrap();
            }
            let mut rest = numbers.as_slice();
            while !rest.is_empty() {
                let len = (random.below(400) as usize).min(rest.len());
                let (now, later) = rest.split_at(len);
                many.push_numbers(now).unwrap();
                if let [number, even_later @ ..] = later {
                    many.push(&number.to_be_bytes(), *number).unwrap();
                    rest = even_later;
                } else {
                    rest = later;
                }
            }
            assert_eq!(single.finish(), many.finish(), "{name} {spec}");
        }
    }
}

#[test]
fn predictions_of_closed_segments_do_not_change() {
    let mut random = SplitMix64::new(seed());
    let mut asked = 0;
    for round in 0..400 {
        let mut model = builder(["plex:boundary=12", "radix-spline:boundary=33"][round % 2]);
        let most = 1 << random.below(50);
        let spread = 1 + random.below(most);
        let close_one_in = 1 + random.below(200);
        let (mut number, mut predicted, mut ranks, mut keys) =
            (random.below(1 << 60), vec![], 0, 0);
        for _ in 0..random.below(1500) {
            number += 1 + random.below(spread);
            if random.below(close_one_in) == 0 {
                model.close_segment();
            }
            let run = 1 + random.below(2) * random.below(2) * random.below(8);
            for i in 0..run {
                let key = [number.to_be_bytes(), i.to_be_bytes()].concat();
                model.push(&key, number).unwrap();
                keys += 1;
            }
            let mut closed: Vec<ClosedSegment> = Vec::new();
            model.take_closed(&mut closed);
            for segment in closed {
                assert_eq!(segment.first_rank, ranks, "segments follow each other");
                ranks += segment.ranks;
            }
            // Whether the probe is present or not, a prediction once given must not change.
            let probe = number.saturating_sub(random.below(40 * spread)) + 1;
            let mut ranks_of_probe = Vec::new();
            model.predict_closed(&[probe], &mut ranks_of_probe);
            predicted.extend(ranks_of_probe.into_iter().map(|rank| (probe, rank)));
            assert!(predicted.last().is_none_or(|(_, rank)| *rank < ranks));
        }
        model.close_segment();
        let mut closed = Vec::new();
        model.take_closed(&mut closed);
        ranks += closed.iter().map(|segment| segment.ranks).sum::<u64>();
        assert_eq!(ranks, keys, "every key is in a segment");
        asked += predicted.len();
        let index = registry::open(model.finish().unwrap()).unwrap();
        for (probe, rank) in predicted {
            assert_eq!(index.predict(probe), Some(rank), "{probe}");
        }
    }
    assert!(asked > 10_000, "{asked}");
}

#[test]
fn keys_of_one_number_cannot_span_two_segments() {
    let mut model = builder("plex");
    model.push(b"a", 1).unwrap();
    model.push(b"b", 2).unwrap();
    model.close_segment();
    model.push(b"c", 2).unwrap();
    assert!(model.is_unfit() && model.finish().is_err());
}

#[test]
fn windows_hold_for_all_radix_bits() {
    for name in [
        "uniform",
        "late-outliers",
        "clusters",
        "two",
        "paths",
        "consecutive",
    ] {
        let keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut SplitMix64::new(3), 2000);
        for bits in [1, 2, 7, 18, 24] {
            let text = format!("radix-spline:boundary=24,radix_bits={bits}");
            let spec: IndexSpec = text.parse().unwrap();
            let case = Case {
                random: 500,
                ..Case::new(&keys, &spec, 16)
            };
            match check(&case, bits) {
                Ok(_) | Err(crate::check::CheckError::Index(crate::IndexError::Unfit { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn plex_uses_both_tops_and_at_most_twice_the_bytes_of_the_spline() {
    let mut forms = [0, 0];
    for (name, numbers) in number_sets(seed(), 20_000) {
        let mut model = builder("plex:boundary=4");
        model.push_numbers(&numbers).unwrap();
        let bytes = model.finish().unwrap();
        let knots = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
        forms[usize::from(bytes[21])] += 1;
        // With fewer than two knots the table still has two cells.
        let most = KNOTS_AT + 2 * KNOT * knots.max(2);
        assert!(
            bytes.len() <= most,
            "{name}: {} with {knots} knots",
            bytes.len()
        );
    }
    assert!(forms[0] > 3 && forms[1] > 3, "{forms:?}");
}

#[test]
fn outliers_are_left_out_and_found() {
    let mut random = SplitMix64::new(seed());
    for (low, high) in [(40, 0), (0, 5), (4, 40), (1, 1)] {
        let mut numbers: Vec<u64> = (0..20_000)
            .map(|_| (1 << 50) + random.below(1 << 30))
            .collect();
        numbers.extend((0..low).map(|_| random.below(1 << 45)));
        numbers.extend((0..high).map(|_| (1 << 63) + random.below(1 << 60)));
        numbers.sort_unstable();
        numbers.dedup();
        let mut model = builder("plex:boundary=4");
        model.push_numbers(&numbers).unwrap();
        let bytes = model.finish().unwrap();
        let left_out = [bytes[25] > 0, bytes[26] > 0];
        assert_eq!(left_out, [low > 0, high > 0], "{low} {high}");
        let keys: Vec<_> = numbers
            .iter()
            .map(|number| number.to_be_bytes().to_vec())
            .collect();
        let spec = "plex:boundary=4".parse().unwrap();
        let case = Case {
            random: 5000,
            ..Case::new(&keys, &spec, 16)
        };
        check(&case, random.next_u64()).unwrap();
        // Random numbers of various magnitudes, which the look-ups of the check rarely hit.
        let index = registry::open(bytes).unwrap();
        for _ in 0..5000 {
            let number = random.next_u64() >> random.below(30);
            let rank = numbers.partition_point(|known| *known < number) as u64;
            let position = index.locate(Probe { key: &[], number });
            let Position::Window(window) = position else {
                panic!("{position:?}")
            };
            assert!(
                window.lo <= rank && rank <= window.hi,
                "{number} {rank} {window:?}"
            );
        }
    }
}

#[test]
fn an_empty_index_does_not_use_its_top() {
    for form in [
        [1, 5, 0, 1],
        [1, 0, 0, 0],
        [1, 0, 4, 0],
        [1, 0, 64, 1],
        [1, 0, 200, 3],
        [0; 4],
    ] {
        let mut bytes = vec![8, 1, 0, 0];
        bytes.extend([0; 12]);
        bytes.extend([16, 0, 0, 0, 0]);
        bytes.extend(form);
        bytes.extend([0; 7]);
        let Ok(index) = crate::registry::open(bytes) else {
            continue;
        };
        assert_eq!(index.window(7), crate::Window { lo: 0, hi: 0 });
        assert_eq!(index.predict(7), None);
    }
}
