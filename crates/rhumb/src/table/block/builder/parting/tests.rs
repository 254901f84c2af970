//! Blocks end where they should, whatever is added together, and are never larger than the bound known at once.

use super::*;
use crate::entry::Pointer;
use crate::table::block::EntryEnd;
use crate::table::block::shape::KeyForm;
use crate::test_seed::test_seed;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

#[derive(Debug, Clone)]
struct Owned {
    key: Vec<u8>,
    sequence: u64,
    kind: EntryKind,
    value: Vec<u8>,
    new_key: bool,
}

impl Owned {
    fn entry(&self) -> NewEntry<'_> {
        NewEntry {
            key: &self.key,
            sequence: self.sequence,
            kind: self.kind,
            value: &self.value,
            new_key: self.new_key,
        }
    }
}

/// Paths of entries of all kinds, some with several versions.
fn entries(rng: &mut StdRng, count: usize) -> Vec<Owned> {
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let [a, b] = [0; 2].map(|_| rng.random_range(0..20u32));
            format!(
                "/usr/share/{a}/dir-{b:04}/{:06}",
                rng.random_range(0..9_999u32)
            )
            .into()
        })
        .collect();
    keys.sort();
    let mut last = Vec::new();
    let plain = rng.random_bool(0.5);
    let entry = |(place, key): (usize, Vec<u8>)| {
        let bytes = vec![7; rng.random_range(0..60)];
        let (kind, value) = match if plain { 9 } else { rng.random_range(0..10) } {
            0 => (EntryKind::Delete, Vec::new()),
            1 => {
                let pointer = Pointer::new(rng.random_range(1..9), 64, 100).unwrap();
                (EntryKind::Pointer, pointer.to_bytes().to_vec())
            }
            _ => (EntryKind::Put, bytes),
        };
        let new_key = key != last;
        last.clone_from(&key);
        Owned {
            key,
            sequence: (count - place) as u64,
            kind,
            value,
            new_key,
        }
    };
    keys.into_iter().enumerate().map(entry).collect()
}

fn encoded(entries: &[Owned]) -> Vec<u8> {
    let (mut block, mut raw) = (BlockBuilder::default(), Vec::new());
    entries.iter().for_each(|entry| block.add(&entry.entry()));
    block.encode(None, None, &mut raw);
    raw
}

/// Cuts entries into blocks; returns how many each has, and checks that they are as if built of these alone.
fn cut(entries: &[Owned], limit: usize) -> Vec<usize> {
    let (mut block, mut next) = (BlockBuilder::default(), BlockBuilder::default());
    let (mut counts, mut done) = (Vec::new(), 0);
    let mut close = |block: &mut BlockBuilder| {
        let mut raw = Vec::new();
        block.encode(None, None, &mut raw);
        let count = block.count();
        assert_eq!(raw, encoded(&entries[done..done + count]));
        assert!(raw.len() <= limit || count == 1);
        done += count;
        counts.push(count);
        block.clear();
    };
    for entry in entries {
        while !block.push_parting(&entry.entry(), limit) {
            block.part(&entry.entry(), &mut next);
            close(&mut block);
            std::mem::swap(&mut block, &mut next);
        }
    }
    close(&mut block);
    counts
}

/// As [`cut`], for entries of different keys, up to `together` of whose puts are added at once where that can be.
fn cut_together(entries: &[Owned], limit: usize, together: usize) -> (Vec<usize>, usize) {
    let (mut block, mut next) = (BlockBuilder::default(), BlockBuilder::default());
    let (mut counts, mut at_once) = (Vec::new(), 0);
    let is_put = |entry: &Owned| entry.kind == EntryKind::Put;
    let mut push_alone = |entry: &NewEntry<'_>, block: &mut BlockBuilder| {
        while !block.push_parting(entry, limit) {
            block.part(entry, &mut next);
            counts.push(block.count());
            block.clear();
            std::mem::swap(block, &mut next);
        }
    };
    let parts = entries.chunk_by(|one, other| is_put(one) && is_put(other));
    for part in parts.flat_map(|part| part.chunks(together)) {
        if let [only] = part
            && !is_put(only)
        {
            push_alone(&only.entry(), &mut block);
            continue;
        }
        let (mut keys, mut values, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for entry in part {
            keys.extend_from_slice(&entry.key);
            values.extend_from_slice(&entry.value);
            ends.push(EntryEnd {
                key: keys.len(),
                value: values.len(),
                sequence: entry.sequence,
            });
        }
        let mut rest = Puts::new(&keys, &values, &ends);
        while rest.len() > 0 {
            let early = block.push_early(&rest, limit);
            at_once += early;
            rest = rest.part(early..rest.len());
            let Some(entry) = rest.entries().next() else {
                break;
            };
            push_alone(&entry, &mut block);
            rest = rest.part(1..rest.len());
        }
    }
    counts.push(block.count());
    (counts, at_once)
}

#[test]
fn blocks_do_not_depend_on_what_is_added_together() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let (mut all, mut at_once) = (0, 0);
    for _ in 0..300 {
        let mut entries = entries(&mut rng, 600);
        entries.retain(|entry| entry.new_key && entry.kind != EntryKind::Pointer);
        if rng.random_bool(0.5) {
            // Values that are alike beside deletes, and then are not, take less.
            let puts = entries.iter_mut().filter(|e| e.kind == EntryKind::Put);
            puts.for_each(|entry| entry.value.resize(60, 7));
        }
        // All visible to everybody, or with sequences that take more bits the later they come, or any.
        match rng.random_range(0..3) {
            0 => entries.iter_mut().for_each(|entry| entry.sequence = 0),
            1 => (1..)
                .zip(&mut entries)
                .for_each(|(n, entry)| entry.sequence = n),
            _ => {}
        }
        if rng.random_bool(0.2) {
            let at = rng.random_range(0..entries.len());
            if entries[at].kind == EntryKind::Put {
                entries[at].value = vec![7; rng.random_range(0..2_000)];
            }
        }
        let limit = rng.random_range(200..6_000);
        let (counts, added) = cut_together(&entries, limit, rng.random_range(1..200));
        assert_eq!(counts, cut(&entries, limit));
        (all, at_once) = (all + entries.len(), at_once + added);
    }
    println!("{at_once} of {all} were added together");
    assert!(at_once > all / 4);
}

#[test]
fn no_block_is_larger_than_the_bound_that_is_known_at_once() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut exact = 0;
    for _ in 0..300 {
        // Few blocks are so large that their offsets take four bytes.
        let count = if rng.random_bool(0.05) { 3_000 } else { 200 };
        let mut entries = entries(&mut rng, count);
        if rng.random_bool(0.5) {
            let len = entries[0].key.len();
            entries.retain(|entry| entry.key.len() == len);
            let puts = entries.iter_mut().filter(|e| e.kind == EntryKind::Put);
            puts.for_each(|entry| entry.value = vec![7; 60]);
        }
        if rng.random_bool(0.2) {
            let puts = entries.iter_mut().filter(|e| e.kind == EntryKind::Put);
            puts.for_each(|entry| entry.value.resize(400 + entry.value.len(), 8));
        }
        // The first is always measured, the other now and then.
        let (mut block, mut other) = (BlockBuilder::default(), BlockBuilder::default());
        let even = rng.random_bool(0.3).then_some(5);
        block.set_even(even);
        other.set_even(even);
        for entry in &entries {
            let entry = entry.entry();
            if block.count() > 0 {
                let most = block.shape.most_bytes_with(&entry);
                let bytes = block.shape_with(&entry).0.most_bytes();
                for shape in [&block.shape, &other.shape] {
                    let most = shape.most_bytes_with(&entry);
                    assert!(bytes <= most, "{bytes} {most} {shape:?}");
                    assert!(!shape.surely_admits(&entry, bytes - 1));
                }
                let unshared = block.shape.common * block.count();
                exact += usize::from(most <= bytes + unshared);
            }
            block.add(&entry);
            other.add(&entry);
            if rng.random_bool(0.02) {
                other.measured();
            }
            let common = common_prefix(block.first_key(), block.last_key());
            let bytes = block.raw_bytes();
            for shape in [&block.shape, &other.shape] {
                let pointers = shape.pointers.most_bytes(shape.ranked_groups());
                let most = shape.most_bytes_at_once(common) + pointers;
                assert!(bytes <= most, "{bytes} {most} {shape:?}");
            }
        }
    }
    println!("{exact} sizes are exact but for the block prefix");
    assert!(exact > 1_000);
}

/// A key of 16 bytes. All but the last of a group of 16 keys share three bytes with its first, or all but the last two, as
/// `many` says; the others share two.
fn key_that_shares_little(number: usize, many: bool) -> [u8; 16] {
    let (group, at) = ((number / 16) as u16, number % 16);
    let own = at as u8 * u8::from(at > 13 + usize::from(many));
    let mut key = [7; 16];
    key[..2].copy_from_slice(&group.to_be_bytes());
    (key[2], key[3]) = (own, at as u8);
    key
}

/// Whether keys share is decided where offsets have four bytes, by one part in 32.
#[test]
fn the_bound_holds_for_large_blocks_whose_keys_just_do_not_share() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let (mut whole, mut shared) = (0, 0);
    for round in 0..100 {
        let mut block = BlockBuilder::default();
        // Sharing just pays where three of four groups share much.
        let often = 0.7 + f64::from(round) / 1_000.0;
        let mut many = false;
        for number in 0..9_000 {
            if number % 16 == 0 {
                many = rng.random_bool(often);
            }
            block.add(&NewEntry {
                key: &key_that_shares_little(number, many),
                sequence: 0,
                kind: EntryKind::Put,
                value: &vec![7; rng.random_range(0..9)],
                new_key: true,
            });
        }
        let bytes = block.raw_bytes();
        let most = block.shape.most_bytes_at_once(0);
        assert!(bytes <= most, "{bytes} {most}");
        match block.shape.key_form() {
            KeyForm::Shared => shared += 1,
            _ => whole += 1,
        }
    }
    println!("keys share in {shared} blocks, in {whole} they do not");
    assert!(shared > 10 && whole > 10);
}

#[test]
fn blocks_end_at_the_shortest_separator_of_their_last_tenth() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut shorter = 0;
    for _ in 0..200 {
        let entries = entries(&mut rng, 400);
        let limit = rng.random_range(200..6_000);
        let counts = cut(&entries, limit);
        assert_eq!(counts.iter().sum::<usize>(), entries.len());
        let separator = |at: usize| match entries[at].new_key {
            true => common_prefix(&entries[at - 1].key, &entries[at].key) + 1,
            false => usize::MAX,
        };
        let mut start = 0;
        for count in &counts[..counts.len() - 1] {
            let end = start + count;
            // All ends with which the block is nearly full and no larger than the limit.
            let bytes = |end: usize| encoded(&entries[start..end]).len();
            let ends = (start + 1..entries.len()).take_while(|end| bytes(*end) <= limit);
            let full = ends.clone().last().unwrap_or(start + 1);
            // Behind the first of them that is nearly full, all count.
            let is_late = |end: &usize| bytes(*end) > limit - limit / 10 || *end == full;
            let late = ends.skip_while(|end| !is_late(end));
            let best = late.map(separator).min().unwrap_or_else(|| separator(full));
            // Pointers may take less than was reckoned, so that more ends fit than were tried.
            let has_pointers = entries[start..=full]
                .iter()
                .any(|e| e.kind == EntryKind::Pointer);
            assert!(separator(end) == best || has_pointers && separator(end) >= best);
            shorter += usize::from(end < full);
            start = end;
        }
    }
    println!("{shorter} blocks end early");
    assert!(shorter > 200);
}
