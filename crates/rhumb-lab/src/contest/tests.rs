//! Contests between made-up systems, whose true ratio is known.

use super::*;
use crate::data::Random;

/// Figures of two systems by rounds, with the noise of a machine that others use too: each round
/// has its own level, time drifts within a round, each build has its own bias, and now and then
/// something else takes half of the processor.
fn contest(random: &mut Random, rounds: usize, truth: f64) -> Vec<(f64, f64)> {
    let mut level = 0.0;
    let mut measure = |mean: f64, place: f64, level: f64, drift: f64| {
        let build = 0.04 * random.normal();
        let noise = 0.02 * random.normal();
        let spike = if random.below(20) == 0 { 0.7 } else { 0.0 };
        mean * (level + drift * place + build + noise + spike).exp()
    };
    let mut chance = Random::new(rounds as u64, 77);
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        level += 0.1 * chance.normal();
        let drift = 0.05 * chance.normal();
        // The order is drawn anew in each round.
        let first = chance.below(2) as f64;
        let of = measure(truth * 5_000.0, first, level, drift);
        let over = measure(5_000.0, 1.0 - first, level, drift);
        pairs.push((of, over));
    }
    pairs
}

/// The interval of the ratio of both figures of each pair.
pub fn ratio(pairs: &[(f64, f64)]) -> Interval {
    let ratios = (1..)
        .zip(pairs)
        .map(|(round, (of, over))| ((1, round), of / over));
    Rounds::new(ratios.collect()).ratio()
}

/// The number of 100 repetitions of a contest that find the first system on this side of 1.
fn found(rounds: usize, truth: f64, sides: &[Side], seed: u64) -> usize {
    let mut random = Random::new(seed, rounds as u64);
    let repetitions = (0..100).filter(|_| {
        let interval = ratio(&contest(&mut random, rounds, truth));
        sides.contains(&interval.side_of(1.0, 1.0))
    });
    repetitions.count()
}

#[test]
fn a_system_does_not_differ_from_itself() {
    for rounds in [2, 3, 4, 5, 8, 20] {
        for seed in 0..5 {
            let decided = found(rounds, 1.0, &[Side::Above, Side::Below], seed);
            assert!(
                decided <= 5,
                "{decided} of 100, {rounds} rounds, seed {seed}"
            );
        }
    }
}

#[test]
fn what_differs_much_is_found() {
    for (rounds, truth, side, least) in [
        (3, 3.0, Side::Above, 70),
        (5, 2.0, Side::Above, 80),
        (5, 0.5, Side::Below, 80),
        (8, 1.5, Side::Above, 80),
        (20, 0.8, Side::Below, 80),
    ] {
        let count = found(rounds, truth, &[side], 1);
        assert!(count >= least, "{count} of 100: {truth}, {rounds} rounds");
        let wrong = [Side::Above, Side::Below].map(|side| found(rounds, truth, &[side], 1));
        assert_eq!(
            wrong.iter().min(),
            Some(&0),
            "the other side is never found"
        );
    }
}

/// A single set of repeats that follow each other, as before there were rounds, finds differences
/// where there are none: the bias of a build is the same in all of them.
#[test]
fn repeats_on_one_build_would_decide_wrongly() {
    let mut random = Random::new(3, 3);
    let wrong = (0..100).filter(|_| {
        let [one, other] = [(); 2].map(|()| 0.04 * random.normal());
        let mut repeat = |build: f64| (build + 0.005 * random.normal()).exp();
        let pairs: Vec<(f64, f64)> = (0..5).map(|_| (repeat(one), repeat(other))).collect();
        ratio(&pairs).side_of(1.0, 1.0) != Side::Undecided
    });
    assert!(wrong.count() > 40);
}

#[test]
fn each_round_has_its_own_order_and_seed() {
    let orders: Vec<Vec<usize>> = (1..=6).map(|round| turns(9, 42, round)).collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..9));
    }
    assert!(orders.windows(2).all(|two| two[0] != two[1]));
    assert_eq!(turns(9, 42, 3), orders[2]);
    assert_eq!(seed_of(42, 1), 42);
    assert!((2..100).all(|round| seed_of(42, round) != seed_of(42, round - 1)));
}
