//! Helpers for the tests of all index kinds and key maps.

#![allow(dead_code, reason = "no test needs all of it")]

use rhumb_index::{IndexSpec, registry};

/// A number from the environment.
pub fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

/// Specifications that set knobs other than the position boundary.
const VARIANTS: [&str; 27] = [
    "fiting-tree:boundary=8,cone=wide",
    "pgm:boundary=4,eps_recursive=1",
    "pgm:boundary=5,eps_recursive=30",
    "radix-spline:boundary=6,radix_bits=1",
    "radix-spline:boundary=4,radix_bits=13",
    "radix-spline:boundary=200,radix_bits=7",
    "rmi:boundary=8,root=linear",
    "rmi:boundary=32,root=cubic",
    "rmi:within=100",
    "rmi:boundary=64,within=100",
    "rmi:boundary=8,within=50",
    "rmi:leaves=1",
    "rmi:leaves=37,root=linear",
    "rmi:leaves=500,root=cubic",
    "rmi:leaves=4096",
    "rmi:leaves=20,retained=1",
    "lits:choice=measured",
    "lits:choice=model",
    "lits:choice=trie",
    "nfl:flow=never",
    "nfl:flow=always",
    "greedy-plr-plus:pages=1",
    "greedy-plr-plus:pages=128",
    "rss:chunk=8",
    "rss:over=keys",
    "rss:over=keys,error=2",
    "rss:over=keys,chunk=8,error=5",
];

/// Every registered kind: if it has a position boundary, at several boundaries and once with its
/// mapped keys retained. Also the specifications that set other knobs.
pub fn specs(boundaries: &[u64]) -> Vec<IndexSpec> {
    let plain = registry::kinds()
        .iter()
        .map(|kind| kind.name.parse::<IndexSpec>().unwrap());
    let vary = |spec: IndexSpec| match spec.get("boundary") {
        Some(_) => boundaries
            .iter()
            .map(|b| spec.clone().with("boundary", *b).unwrap())
            .chain(spec.clone().with("retained", 1))
            .collect(),
        None => vec![spec],
    };
    let variants = VARIANTS.iter().map(|text| text.parse().unwrap());
    plain.flat_map(vary).chain(variants).collect()
}

/// All strings of up to `len` of these symbols, sorted.
pub fn all_strings(symbols: &[u8], len: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut longest = vec![Vec::new()];
    for _ in 0..len {
        longest = longest
            .iter()
            .flat_map(|s: &Vec<u8>| symbols.iter().map(|b| [s.as_slice(), &[*b]].concat()))
            .collect();
        all.extend(longest.iter().cloned());
    }
    all.sort();
    all
}
