//! The bytes of an index depend only on its keys and its specification: not on the process, the
//! thread, the time, the processor or the system's mathematical library.
//!
//! [`DIGESTS`] has one number for each specification. If it changes, the written bytes have
//! changed. If that is intended, insert the number that the failing test prints and state in the
//! commit message why the bytes changed. Readers must still understand the old bytes.

use std::process::Command;

use rhumb_index::check::{Case, SplitMix64, build, distributions, map_of};
use rhumb_index::{IndexError, IndexSpec, registry};

/// The digest of the indexes over all [`key_sets`] for each specification. `lits:choice=measured`
/// is missing because it depends on the clock.
const DIGESTS: [(&str, u64); 38] = [
    ("fp", 0xcab0_9a62_5fd2_8fa3),
    ("fp-raw", 0x3830_90d2_05fa_4b2c),
    ("plr", 0x36ef_6f07_e4bf_e748),
    ("fiting-tree", 0x55fc_5bcd_4ad8_ab5d),
    ("pgm", 0x8699_5051_14ae_749c),
    ("rmi", 0x4aad_5ebb_d61e_bb21),
    ("radix-spline", 0xa26f_c7cc_695b_9ad8),
    ("plex", 0x327e_ed95_da7a_5a8c),
    ("alex", 0xd351_9b52_998f_5a31),
    ("lipp", 0xbdd6_3298_489c_cfe8),
    ("dili", 0x80a4_8a60_e423_08b5),
    ("lits", 0x810f_f739_b630_1112),
    ("nfl", 0xf3c8_0c0e_d973_57fb),
    ("btree", 0xb608_7b05_ec05_166b),
    ("plr:boundary=64", 0xe1f6_7bc3_b85f_a4ea),
    ("plr:retained=1", 0x9e9c_bb1d_f268_77ed),
    ("fiting-tree:boundary=64", 0xebac_0d31_470a_ac5a),
    ("fiting-tree:cone=wide", 0x85d0_6356_9f61_466f),
    ("fiting-tree:boundary=64,cone=wide", 0x8c3c_0ddd_c1c7_4590),
    ("pgm:boundary=64,eps_recursive=1", 0xe2bf_0fc0_d7fa_adaa),
    ("rmi:boundary=64", 0x1d59_2f43_57a2_eeb7),
    ("rmi:within=100", 0xec26_0555_4d27_b6f7),
    ("rmi:boundary=64,within=100", 0x9ed4_6057_e855_2c16),
    ("rmi:leaves=1000", 0x9acd_6448_d39b_a4e1),
    ("rmi:leaves=100,root=cubic", 0xea93_f965_b2a1_de48),
    ("radix-spline:boundary=64", 0x4e8e_4e6f_ec6f_60f9),
    ("plex:boundary=4", 0x2d0a_dfca_7bf0_005c),
    ("lits:choice=model", 0xb616_156c_f47d_4a53),
    ("lits:choice=trie", 0xad1c_503f_247e_3385),
    ("nfl:flow=always", 0x8517_eb5e_0b83_a7b9),
    ("greedy-plr-plus", 0x81f5_63db_9ef0_8a3c),
    ("greedy-plr-plus:pages=1", 0x61d7_e605_5184_bf7d),
    ("rss", 0x1a3c_098b_8b4f_8907),
    ("rss:chunk=8", 0x5b65_27cf_2d64_1997),
    ("rss:over=keys", 0x47fb_a89c_8086_806a),
    ("rss:over=keys,chunk=8,error=9", 0x5fdd_bac1_4f2c_d4c3),
    ("pla", 0x34be_92eb_3f7a_a667),
    ("pra", 0xcbe9_e332_9aaf_a5c9),
];

/// Keys of many shapes, made with integers only, so that they are the same everywhere.
fn key_sets() -> Vec<Vec<Vec<u8>>> {
    const NAMES: [&str; 16] = [
        "none",
        "one",
        "consecutive",
        "uniform",
        "uniform-crowded",
        "bursts",
        "clusters",
        "huge-gap",
        "late-outliers",
        "few-bits",
        "squares",
        "timestamps",
        "decimal-unpadded",
        "words",
        "paths",
        "ties-of-any-length",
    ];
    let mut random = SplitMix64::new(0x6279_7465);
    let mut sets: Vec<_> = NAMES
        .iter()
        .map(|name| {
            let distribution = distributions::by_name(name).unwrap();
            distribution.keys(&mut random, 10_000)
        })
        .collect();
    // A heavy tail: the share of numbers above x falls as 1 / x.
    let heavy = |_| {
        (u64::MAX / (1 + random.below(1 << 40)))
            .to_be_bytes()
            .to_vec()
    };
    let mut heavy: Vec<_> = (0..40_000).map(heavy).collect();
    heavy.sort();
    heavy.dedup();
    sets.push(heavy);
    sets
}

/// FNV-1a (Fowler, Noll and Vo) of 64 bits.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The digest of a specification's indexes over all key sets.
fn digest(spec: &IndexSpec, sets: &[Vec<Vec<u8>>]) -> u64 {
    let mut digest = Digest::new();
    for keys in sets {
        let form = match build(&Case::new(keys, spec, 16), &map_of(keys)) {
            Ok(form) => form,
            Err(IndexError::Unfit { .. }) => b"unfit".to_vec(),
            Err(error) => panic!("{spec}: {error}"),
        };
        digest.add(&(form.len() as u64).to_le_bytes());
        digest.add(&form);
    }
    digest.0
}

/// The digests of all specifications.
fn digests() -> Vec<(&'static str, u64)> {
    let sets = key_sets();
    let of = |(text, _): &(&'static str, u64)| (*text, digest(&text.parse().unwrap(), &sets));
    DIGESTS.iter().map(of).collect()
}

#[test]
fn the_bytes_are_those_that_were_written_before() {
    let threads = [(); 2].map(|()| std::thread::spawn(digests));
    let [first, second] = threads.map(|thread| thread.join().unwrap());
    assert_eq!(first, second, "two threads");
    let changed = first
        .iter()
        .zip(DIGESTS)
        .filter(|(now, before)| *now != before);
    let changed: String = changed
        .map(|((text, digest), _)| format!("    (\"{text}\", 0x{digest:016x}),\n"))
        .collect();
    assert!(changed.is_empty(), "other bytes than before:\n{changed}");
}

/// On processors without fused multiplication, the mathematical library of Linux runs other code,
/// whose last bits differ. No index may depend on them. On systems that do not know this setting,
/// the test only runs another process.
#[test]
fn another_process_without_fused_arithmetic_gives_the_same_bytes() {
    let other = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "equal_keys_give_equal_bytes::the_bytes_are_those_that_were_written_before",
        ])
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F",
        )
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&other.stdout);
    assert!(
        other.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

#[test]
fn every_kind_has_a_digest() {
    for kind in registry::kinds() {
        let is_there = DIGESTS.iter().any(|(text, _)| *text == kind.name);
        assert!(is_there, "{}", kind.name);
    }
}
