//! The checker accepts any index as a closure, passes right answers and reports wrong ones.

use rhumb_index::check::{CheckError, Own, SplitMix64, check_own, distributions};
use rhumb_index::{Position, Window};

const EVERY: usize = 10;

/// Checks look-ups by bisection whose window or block is shifted by `shift`.
fn bisecting(keys: &[Vec<u8>], blocks: bool, shift: i64) -> Result<u64, CheckError> {
    let own = Own {
        name: "bisecting",
        keys,
        cut_every: EVERY,
        widest: EVERY as u64,
        random: 300,
    };
    let locate = |key: &[u8]| {
        let rank = keys.partition_point(|known| known.as_slice() < key);
        let block = (rank.min(keys.len() - 1) / EVERY) as i64 + shift;
        let block = block.clamp(0, (keys.len() / EVERY) as i64) as u64;
        let lo = block * EVERY as u64;
        match blocks {
            true => Position::Block(block),
            false => Position::Window(Window {
                lo,
                hi: (lo + EVERY as u64).min(keys.len() as u64),
            }),
        }
    };
    check_own(&own, 7, locate).map(|counts| counts.lookups)
}

#[test]
fn right_answers_pass_and_wrong_ones_do_not() {
    for name in ["uuid", "lognormal", "decimal-24"] {
        let keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut SplitMix64::new(2), 995);
        for blocks in [false, true] {
            assert!(bisecting(&keys, blocks, 0).unwrap() > 3_000);
            for shift in [-1, 1] {
                let error = bisecting(&keys, blocks, shift).unwrap_err();
                assert!(
                    error.to_string().starts_with("bisecting over 995 keys"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn windows_wider_than_promised_do_not_pass() {
    let keys: Vec<Vec<u8>> = (0..100u8).map(|i| vec![i]).collect();
    let own = Own {
        name: "everywhere",
        keys: &keys,
        cut_every: 1,
        widest: 99,
        random: 0,
    };
    let everywhere = |_: &[u8]| Position::Window(Window { lo: 0, hi: 100 });
    assert!(check_own(&own, 1, everywhere).is_err());
    assert!(check_own(&Own { widest: 100, ..own }, 1, everywhere).is_ok());
    let beyond = |_: &[u8]| Position::Window(Window { lo: 0, hi: 101 });
    assert!(check_own(&Own { widest: 200, ..own }, 1, beyond).is_err());
}
