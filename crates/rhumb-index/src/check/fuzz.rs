//! Bodies of fuzz targets: no input may cause a panic or break the contract of an index.
//!
//! The crate's tests run them over seeded bytes; `fuzz/` at the root of the repository wraps them
//! for `cargo fuzz`.

use super::{Case, CheckError, SplitMix64, build, check, distributions, map_of};
use crate::registry::Kind;
use crate::{Index, IndexError, IndexSpec, KeyMap, Position, Probe, registry};

/// The largest value of a knob that [`keys`] uses: millions of leaves would take seconds.
const LARGEST: u64 = 4096;

/// Opens the bytes as an index of any kind. If they open, answers must stay within the table and
/// within the widest window. Returns whether they open.
///
/// # Panics
/// If an answer is outside.
pub fn index_bytes(bytes: &[u8]) -> bool {
    let seed = seed_of(bytes);
    let Ok(index) = registry::open(bytes.to_vec()) else {
        return false;
    };
    let mut random = SplitMix64::new(seed);
    for _ in 0..8 {
        let len = random.below(12) as usize;
        let key = random.bytes(len, 256);
        answers_within(&*index, &key, random.next_u64() >> random.below(64));
    }
    answers_within(&*index, &[], 0);
    answers_within(&*index, &[0xff; 9], u64::MAX);
    true
}

/// Looks up a key in an index that may be damaged.
///
/// # Panics
/// If the answer is outside the table, or wider than [`Index::widest_window`].
pub fn answers_within(index: &dyn Index, key: &[u8], number: u64) {
    let probe = Probe { key, number };
    (0..3).for_each(|step| index.prefetch(probe, step));
    let position = index.locate(probe);
    let (extent, widest) = (index.extent(), index.widest_window());
    let is_within = match position {
        Position::Window(window) => {
            window.lo <= window.hi && window.hi <= extent && window.len() <= widest
        }
        Position::Block(block) | Position::Slot { block, .. } => block < extent,
    };
    assert!(is_within, "{position:?} of {index:?}");
    let predicted = index.predict(number);
    assert!(
        predicted.is_none_or(|rank| rank < extent),
        "{predicted:?} of {index:?}"
    );
}

/// Uses the first bytes as an index specification and the rest as keys; builds and checks the
/// index. Returns whether it was built: kinds may be unfit for the keys.
///
/// # Panics
/// If the index violates its contract.
pub fn keys(bytes: &[u8]) -> bool {
    let (&[kind, knob, cut, length], rest) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
    let kinds = registry::kinds();
    let Some(kind) = kinds.get(usize::from(kind) % kinds.len().max(1)) else {
        return false;
    };
    let Some(spec) = spec_of(kind, knob, cut % 2 == 1) else {
        return false;
    };
    let mut keys: Vec<Vec<u8>> = match length % 4 {
        0 => rest.chunks(8).map(<[u8]>::to_vec).collect(),
        1 => rest.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect(),
        _ => rest
            .chunks(usize::from(length))
            .map(<[u8]>::to_vec)
            .collect(),
    };
    keys.sort_unstable();
    keys.dedup();
    let case = Case {
        random: 30,
        ..Case::new(&keys, &spec, 1 + usize::from(cut))
    };
    let checked = check(&case, seed_of(bytes));
    let broken = match &checked {
        Ok(_) | Err(CheckError::Index(IndexError::Unfit { .. })) => None,
        Err(error) => Some(error.to_string()),
    };
    assert_eq!(broken, None);
    checked.is_ok()
}

/// A specification of a kind whose knobs are derived from a byte. Of knobs that exclude each other,
/// the first one counts, or with `is_reversed` the last.
fn spec_of(kind: &Kind, knob: u8, is_reversed: bool) -> Option<IndexSpec> {
    let mut spec: IndexSpec = kind.name.parse().ok()?;
    let mut knobs: Vec<_> = kind.knobs.iter().collect();
    if is_reversed {
        knobs.reverse();
    }
    for known in knobs {
        // Some values of the range, including its ends.
        let value = match u64::from(knob) % 42 {
            41 => known.max.min(LARGEST),
            some => known.min + some % (known.max - known.min + 1),
        };
        if let Ok(with) = spec.clone().with(known.name, value) {
            spec = with;
        }
    }
    Some(spec)
}

/// The most keys of an index that is damaged on purpose.
const DAMAGED_KEYS: usize = 1024;

/// Builds an index of one kind and damages it: the first four bytes choose keys and knobs, the
/// others are edits of its byte form, which reach fields that random bytes never get to. If the
/// form still opens, answers must stay within the table. Returns whether it opens.
///
/// # Panics
/// If an answer is outside.
pub fn kind_bytes(kind: &str, bytes: &[u8]) -> bool {
    let (&[keys, count, knob, cut], edits) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
    let kind = registry::kinds().iter().find(|known| known.name == kind);
    let Some(spec) = kind.and_then(|kind| spec_of(kind, knob, cut % 2 == 1)) else {
        return false;
    };
    let many = distributions::all().count().max(1);
    let Some(distribution) = distributions::all().nth(usize::from(keys) % many) else {
        return false;
    };
    let most = DAMAGED_KEYS * usize::from(count) / 256;
    let keys = distribution.keys(&mut SplitMix64::new(count.into()), most);
    let map = map_of(&keys);
    let case = Case::new(&keys, &spec, 1 + usize::from(cut) / 2);
    let Ok(mut form) = build(&case, &map) else {
        return false;
    };
    edits
        .as_chunks()
        .0
        .iter()
        .for_each(|one| edit(&mut form, *one));
    let Ok(index) = registry::open(form) else {
        return false;
    };
    let mut random = SplitMix64::new(seed_of(bytes));
    for key in keys.iter().step_by(keys.len() / 64 + 1) {
        let number = map.number(key);
        answers_within(&*index, key, number);
        let near = number ^ random.next_u64() >> random.below(64);
        answers_within(&*index, &near.to_be_bytes(), near);
    }
    answers_within(&*index, &[], 0);
    answers_within(&*index, &[0xff; 9], u64::MAX);
    true
}

/// Damages one place: of the 24 bits before the value, the highest two select the kind of damage,
/// the others the place.
fn edit(form: &mut Vec<u8>, [low, middle, high, value]: [u8; 4]) {
    let at = u32::from_le_bytes([low, middle, high & 0x3f, 0]) as usize;
    let at = at % form.len().max(1);
    match high >> 6 {
        // Overwrites a field of 8 bytes, with NaN, infinities, all ones and small numbers among the
        // values.
        3 => {
            let field = form.iter_mut().skip(at & !7).take(8);
            let fill = if value < 8 { 0 } else { 0xff };
            let bytes = [value, fill, fill, fill, fill, fill, fill, value | fill];
            field.zip(bytes).for_each(|(byte, new)| *byte = new);
        }
        // Rare, since truncated forms are mostly detected at once.
        2 if value == 0 => form.truncate(at),
        how => {
            if let Some(byte) = form.get_mut(at) {
                *byte = match how {
                    0 => value,
                    1 => *byte ^ value,
                    _ => byte.wrapping_add(value),
                };
            }
        }
    }
}

/// Opens the bytes as a key map. If they are one, it must be monotone and have no other byte form.
/// Returns whether they are.
///
/// # Panics
/// If the map is not.
pub fn key_map_bytes(bytes: &[u8]) -> bool {
    let Ok(map) = KeyMap::from_bytes(bytes) else {
        return false;
    };
    assert_eq!(map.to_bytes(), bytes, "each map has one byte form");
    let mut random = SplitMix64::new(seed_of(bytes));
    let mut probes: Vec<Vec<u8>> = (0..30)
        .map(|_| {
            let len = random.below(40) as usize;
            let mut probe = random.bytes(len, 256);
            // Bytes of the form are more likely to be symbols that the map knows.
            probe.iter_mut().for_each(|byte| {
                *byte = random.choose(bytes).copied().unwrap_or(*byte);
            });
            probe
        })
        .collect();
    probes.sort_unstable();
    let numbers = probes.iter().map(|probe| map.number(probe));
    assert!(numbers.is_sorted(), "{map:?}");
    true
}

/// Uses the bytes as lines of text, one key each, and makes a map of all keys and of each half.
///
/// # Panics
/// If a map is not monotone over the keys, is not read back as written, or the union of the halves
/// is not the map of all.
pub fn key_map_keys(bytes: &[u8]) {
    let mut keys: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    keys.sort_unstable();
    let map = map_of(&keys);
    assert!(keys.is_sorted_by_key(|key| map.number(key)), "{map:?}");
    let again = KeyMap::from_bytes(&map.to_bytes());
    assert_eq!(again.as_ref(), Ok(&map));
    let (left, right) = keys.split_at(keys.len() / 2);
    let mut union = crate::KeyMapBuilder::new();
    union.absorb(&map_of(right));
    union.absorb(&map_of(left));
    assert_eq!(union.build(), map);
}

/// A number that depends on all bytes.
fn seed_of(bytes: &[u8]) -> u64 {
    let mix = |seed: u64, byte: &u8| (seed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
