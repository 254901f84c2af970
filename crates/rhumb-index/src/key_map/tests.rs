//! Tests of which maps number all digits at once, and that they ignore the bytes around the key.

#![allow(clippy::unwrap_used)]

use super::{KeyMap, Method};
use crate::check::{SplitMix64, distributions, map_of};

/// Whether the map numbers all digits at once; `None` without AVX2.
fn at_once(map: &KeyMap) -> Option<bool> {
    is_x86_feature_detected!("avx2").then_some(matches!(map.method, Method::Lanes(_)))
}

fn map_of_distribution(name: &str) -> KeyMap {
    let distribution = distributions::by_name(name).unwrap();
    map_of(&distribution.keys(&mut SplitMix64::new(4), 3000))
}

#[test]
fn digits_are_numbered_at_once() {
    for name in ["decimal-24", "decimal-unpadded", "hex-16", "uuid"] {
        assert_ne!(at_once(&map_of_distribution(name)), Some(false), "{name}");
    }
    // Eight alphabets of 256 bytes; alphabets of many ranges; few digits; digits too far apart.
    let pairs: Vec<String> = (0..10_000)
        .map(|i| format!("{:04}{}{:04}", i, "-".repeat(25), i))
        .collect();
    let few: Vec<String> = (0..100).map(|i| format!("user-{i:04}")).collect();
    let others = [
        map_of_distribution("random-16"),
        map_of_distribution("paths"),
        map_of(&few),
        map_of(&pairs),
    ];
    for map in &others {
        assert_ne!(at_once(map), Some(true), "{map:?}");
    }
    let nearer: Vec<String> = pairs.iter().map(|key| key.replacen('-', "", 1)).collect();
    assert_ne!(at_once(&map_of(&nearer)), Some(false));
}

#[test]
fn digits_after_prefixes_of_any_length_are_numbered_at_once() {
    let numbers = || (0..2000u64).map(|i| i * 7_919_777 % 10_000_000_000);
    for len in [0, 7, 8, 22, 23, 40, 1000] {
        let prefix = "p".repeat(len);
        let keys: Vec<String> = numbers().map(|n| format!("{prefix}{n:010}")).collect();
        let map = map_of(&keys);
        assert_ne!(at_once(&map), Some(false), "a prefix of {len}");
        for (key, number) in keys.iter().zip(numbers()) {
            assert_eq!(map.number(key.as_bytes()), number);
            let mut other = key.clone().into_bytes();
            other[len / 2] ^= 1;
            assert_eq!(map.number(&other), map.number_portable(&other));
            other.truncate(len);
            assert_eq!(map.number(&other), map.number_portable(&other));
        }
    }
}

/// Keys of ten positions with two symbols each, except `wide` symbols at one position. With `ends`
/// one of these is END: every 100th key ends there.
fn keys_of_a_wide_position(position: usize, wide: u32, ends: bool) -> Vec<Vec<u8>> {
    let bytes = wide - u32::from(ends);
    let key = |i: u32| {
        let mut key: Vec<u8> = (0..10).map(|at| (i >> at & 1) as u8).collect();
        key[position] = (i % bytes) as u8;
        key.truncate(if ends && i.is_multiple_of(100) {
            position
        } else {
            10
        });
        key
    };
    (0..4000).map(key).collect()
}

#[test]
fn lanes_are_used_up_to_their_largest_radix() {
    for position in 0..10 {
        for wide in [126, 127, 128, 129, 130, 254, 255, 256, 257] {
            for ends in [false, true] {
                if wide - u32::from(ends) > 256 {
                    continue;
                }
                let keys = keys_of_a_wide_position(position, wide, ends);
                let map = map_of(&keys);
                let most = [256, 127][position % 2];
                assert_ne!(at_once(&map), Some(wide > most), "{wide} at {position}");
                for key in &keys {
                    assert_eq!(map.number(key), map.number_portable(key));
                }
            }
        }
    }
}

/// Maps that use lanes, for keys of various lengths.
fn maps_of_lengths() -> Vec<KeyMap> {
    let mut random = SplitMix64::new(12);
    let maps = [0, 5, 30].map(|shortest| {
        let len = |random: &mut SplitMix64| (shortest + random.below(40 - shortest)) as usize;
        let keys: Vec<Vec<u8>> = (0..500)
            .map(|_| {
                let digits = len(&mut random).saturating_sub(shortest as usize);
                [vec![b'k'; shortest as usize], random.bytes(digits, 3)].concat()
            })
            .collect();
        map_of(&keys)
    });
    assert!(maps.iter().all(|map| at_once(map) != Some(false)));
    maps.into()
}

/// A key of this length: the map's prefix, then known symbols.
fn probe(map: &KeyMap, len: usize) -> Vec<u8> {
    let prefix = map.shared_prefix_bytes();
    (0..len)
        .map(|at| if at < prefix { b'k' } else { (at % 3) as u8 })
        .collect()
}

#[test]
fn bytes_around_a_key_are_ignored() {
    for map in maps_of_lengths() {
        for len in 0..=80 {
            let key = probe(&map, len);
            let right = map.number_portable(&key);
            for align in 0..64 {
                for beside in [0, 1, 2, b'k', 0xff] {
                    let mut bytes = vec![beside; 256];
                    bytes[align..][..len].copy_from_slice(&key);
                    assert_eq!(
                        map.number(&bytes[align..][..len]),
                        right,
                        "{len} at {align}"
                    );
                }
            }
        }
    }
}

/// Keys at the start and end of accessible memory: reading one byte more would crash the process.
#[cfg(target_os = "linux")]
#[test]
#[allow(unsafe_code)]
fn no_byte_outside_a_key_is_read() {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

    // A multiple of the page size of every Linux.
    const PAGE: usize = 1 << 16;
    // SAFETY: new memory whose outer pages are made inaccessible; nothing else uses it, and it
    // lives to the end of the test.
    let (all, middle) = unsafe {
        let all = mmap_anonymous(
            std::ptr::null_mut(),
            3 * PAGE,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
        .unwrap();
        mprotect(all, PAGE, MprotectFlags::empty()).unwrap();
        mprotect(all.byte_add(2 * PAGE), PAGE, MprotectFlags::empty()).unwrap();
        let start = all.byte_add(PAGE).cast::<u8>();
        (all, std::slice::from_raw_parts_mut(start, PAGE))
    };
    for map in maps_of_lengths() {
        for len in 0..=80 {
            let key = probe(&map, len);
            let right = map.number_portable(&key);
            middle[..len].copy_from_slice(&key);
            assert_eq!(map.number(&middle[..len]), right);
            middle[PAGE - len..].copy_from_slice(&key);
            assert_eq!(map.number(&middle[PAGE - len..]), right);
        }
    }
    // SAFETY: mapped above; `middle` is not used any more.
    unsafe { munmap(all, 3 * PAGE) }.unwrap();
}
