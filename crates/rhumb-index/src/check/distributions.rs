//! Named key distributions: the sets that every index kind must survive.

mod numbers;
mod texts;

use super::SplitMix64;

/// A way to make keys.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    /// Its name in reports.
    pub name: &'static str,
    make: fn(&mut SplitMix64, usize) -> Vec<Vec<u8>>,
}

impl Distribution {
    /// About `count` sorted distinct keys: fewer where the distribution has no more, or where
    /// some repeat.
    pub fn keys(&self, random: &mut SplitMix64, count: usize) -> Vec<Vec<u8>> {
        let mut keys = (self.make)(random, count);
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Every distribution, numbers first.
pub fn all() -> impl Iterator<Item = Distribution> {
    numbers::ALL
        .iter()
        .chain(texts::ALL)
        .map(|&(name, make)| Distribution { name, make })
}

/// The distribution of this name.
pub fn by_name(name: &str) -> Option<Distribution> {
    all().find(|distribution| distribution.name == name)
}

/// A row of the lists: a name and what makes the keys.
type Row = (&'static str, fn(&mut SplitMix64, usize) -> Vec<Vec<u8>>);
