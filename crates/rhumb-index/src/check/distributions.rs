//! Named key distributions, over which every index kind is checked.

mod numbers;
mod texts;

use super::SplitMix64;

/// A method of making keys.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    /// Its name in reports.
    pub name: &'static str,
    make: fn(&mut SplitMix64, usize) -> Vec<Vec<u8>>,
}

impl Distribution {
    /// About `count` sorted distinct keys: fewer if the distribution has no more, or if some
    /// repeat.
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

/// An entry of the lists: a name, and the function that makes the keys.
type Row = (&'static str, fn(&mut SplitMix64, usize) -> Vec<Vec<u8>>);
