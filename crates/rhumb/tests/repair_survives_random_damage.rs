//! Whatever is damaged, a repaired store opens, is sound, and makes nothing up.

mod damage;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use damage::{Store, flip, truncate};
use rand::{RngExt, SeedableRng, rngs::StdRng};

#[test]
fn values_after_a_repair_were_once_written() {
    let seed = std::env::var("RHUMB_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(5u64);
    println!("RHUMB_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let store = Store::new();
    let image = store.image();
    let paths: Vec<_> = image
        .iter()
        .filter(|(_, b)| b.len() > 8)
        .map(|(p, _)| p)
        .collect();
    let mut outcomes: BTreeMap<bool, u32> = BTreeMap::new();
    let written: BTreeSet<u8> = (b'0'..=b'3').collect();
    for _ in 0..40 {
        store.restore(&image);
        for _ in 0..random.random_range(1..4) {
            let path = paths[random.random_range(0..paths.len())];
            let Ok(bytes) = fs::read(path).map(|b| b.len()) else {
                continue;
            };
            match random.random_range(0..8) {
                _ if bytes == 0 => {}
                0 => truncate(path, random.random_range(0..bytes)),
                1 => fs::remove_file(path).unwrap(),
                _ => flip(path, random.random_range(0..bytes)),
            }
        }
        if !store.path().join("LOCK").exists() && store.files("manifest").is_empty() {
            continue;
        }
        let (report, found) = store.repair_and_check();
        *outcomes.entry(report.lost.is_empty()).or_default() += 1;
        for (key, value) in &found {
            assert!(key.starts_with(b"key") && key.len() == 9, "{key:?}");
            assert!(written.contains(&value[0]) && value.ends_with(b"vvvvvvvvvvvvvvvvvvvv"));
        }
    }
    println!("repairs by whether nothing was lost: {outcomes:?}");
    assert!(outcomes.contains_key(&false), "{outcomes:?}");
}
