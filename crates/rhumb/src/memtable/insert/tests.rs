//! What the writer knows of its position, against what a walk over every level tells.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::test_seed::test_seed;

/// How many bytes two keys share if zeros follow both.
fn share(one: &[u8], other: &[u8]) -> usize {
    compare_from(0, one, other).1
}

/// Checks the writer's neighbours on all levels, and the heads and hints of all nodes.
fn check(list: &SkipList) {
    let writer = lock(&list.writer);
    let last = Record::read(&list.arena, writer.last.unwrap());
    let target = list.target(last.key, last.sequence).unwrap();
    for level in 0..MAX_HEIGHT {
        let (mut below, mut above) = (HEAD, list.node(HEAD).next(level));
        while above != NONE && list.compare_keys(above, &target, 0).0 != Order::Greater {
            (below, above) = (above, list.node(above).next(level));
        }
        for (found, node) in [
            (writer.below.get(level), below),
            (writer.above.get(level), above),
        ] {
            assert_eq!(found.node, node, "level {level}");
            let exact = match node {
                NONE => Shared::exactly(0),
                node => Shared::exactly(share(list.record(node).key, last.key)),
            };
            assert!(found.shared <= exact, "{found:?} {exact:?}");
            assert!(!found.shared.is_exact() || found.shared == exact || node == NONE);
        }
        let mut node = HEAD;
        while level > 0 && list.node(node).next(level) != NONE {
            let hint = list.node(node).hint(level);
            node = list.node(node).next(level);
            let key = list.record(node).key;
            for head in [hint, list.node(node).head()] {
                assert!(head == Head::NONE || head == Head::new(key, head.skip()));
            }
        }
    }
}

/// Moves of every width, in either direction, among keys that share any number of bytes.
#[test]
fn the_writer_knows_its_neighbours_and_what_they_share() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    for likely in [&b""[..], b"n/", b"other"] {
        for most in [3, 40, 4000] {
            let list = SkipList::new(likely.into(), 9);
            let mut at: i64 = 2000;
            let mut inserted: Vec<(Vec<u8>, Sequence)> = Vec::new();
            let insert = |key: &[u8], sequence| {
                list.writer().insert(&NewEntry {
                    key,
                    sequence,
                    kind: EntryKind::Put,
                    value: b"",
                })
            };
            for sequence in 1..=300 {
                at = (at + rng.random_range(-most..=most)).clamp(0, 5000);
                let mut key = b"n".to_vec();
                for digit in [at / 625, at / 25 % 25, at % 25] {
                    key.extend_from_slice(b"/name");
                    // A zero byte at times, at the end of which only the length tells.
                    key.push((digit * 10) as u8);
                }
                key.truncate(key.len() - rng.random_range(0..3) * 2);
                let sequence = match rng.random_bool(0.8) {
                    true => sequence,
                    false => MAX_SEQUENCE - sequence,
                };
                // One that is there: of the last ones, which are near, or of all.
                let recent = match rng.random() {
                    true => inserted.len().saturating_sub(5),
                    false => 0,
                };
                if rng.random_bool(0.3) && !inserted.is_empty() {
                    let (key, sequence) = &inserted[rng.random_range(recent..inserted.len())];
                    assert_eq!(insert(key, *sequence), Inserted::Duplicate);
                }
                assert_eq!(insert(&key, sequence), Inserted::New);
                inserted.push((key, sequence));
                check(&list);
            }
        }
    }
}
