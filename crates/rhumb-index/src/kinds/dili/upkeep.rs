//! The rules for rebuilding nodes.

/// The most keys of a leaf when it is built or adjusted.
pub(super) const LEAF_CAP: usize = 8_192;

/// The growth at which a node is rebuilt, as a multiple of the keys it was built with. In a chain
/// of nodes that each grew out of one child of the node above, each level holds at most two thirds
/// of the keys of the level above. The length of the chain is therefore logarithmic, and so is the
/// number of times a key is rebuilt.
const GROWN: usize = 3;

/// Levels to a key, from one leaf on, at which published upkeep forces a rebuild: deeper trees
/// would overflow the stack.
const DEEPEST: u64 = 512;

/// How the tree is restructured as keys are inserted and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upkeep {
    /// A node is rebuilt when it has [`GROWN`] times as many keys as it was built with or less than
    /// a quarter, and a leaf when it takes three times its memory. A leaf over [`LEAF_CAP`] becomes
    /// a subtree, and a nested leaf with few keys a run.
    Bounded,
    /// A leaf is adjusted when its average cost has doubled, unless it holds [`LEAF_CAP`] keys or
    /// more. It is adjusted in any case when a key is inserted more than [`DEEPEST`] levels below
    /// it.
    Published,
}

/// Slots a key in a newly built leaf.
pub(super) const RATIO: f64 = 2.0;

/// The state of a leaf after an insertion.
#[derive(Debug)]
pub(super) struct Wear {
    pub(super) keys: u32,
    /// The keys that it was built with.
    pub(super) built: u32,
    /// The average cost of a key.
    pub(super) average: f32,
    /// The average cost when the leaf was built.
    pub(super) built_average: f32,
    /// The level of the newest key below the leaf.
    pub(super) level: u64,
}

impl Upkeep {
    pub(super) fn is_bounded(self) -> bool {
        self == Upkeep::Bounded
    }

    /// Slots a key in a leaf after this many adjustments.
    pub(super) fn ratio(self, adjusted: u32) -> f64 {
        let most = match self {
            Upkeep::Bounded => 3.0,
            Upkeep::Published => 6.0,
        };
        (RATIO + 0.1 * f64::from(adjusted)).min(most)
    }

    /// Whether a leaf with a new key should be adjusted.
    pub(super) fn adjusts(self, wear: &Wear) -> bool {
        let has_degraded = wear.average >= 2.0 * wear.built_average && wear.keys > 8;
        match self {
            Upkeep::Bounded => {
                has_degraded || wear.keys >= wear.built.saturating_mul(GROWN as u32).max(8)
            }
            Upkeep::Published => {
                has_degraded && (wear.keys as usize) < LEAF_CAP || wear.level > DEEPEST
            }
        }
    }

    /// Whether a leaf has so many more cells than when it was built that it should be rebuilt: some
    /// belong to runs and nested leaves whose keys are gone.
    pub(super) fn is_bloated(self, cells: u64, built: u64) -> bool {
        self.is_bounded() && cells > 3 * built
    }

    /// Whether a leaf of this many keys should become a subtree; no newly built leaf is that large.
    pub(super) fn overflows(self, keys: usize) -> bool {
        self.is_bounded() && keys > LEAF_CAP
    }

    /// Whether an internal node has grown so much that it should be rebuilt.
    pub(super) fn outgrown(self, keys: usize, built: usize) -> bool {
        self.is_bounded() && keys >= GROWN * built.max(LEAF_CAP / GROWN)
    }

    /// Whether a node has lost so many keys that it should be rebuilt.
    pub(super) fn shrinks(self, keys: usize, built: usize) -> bool {
        self.is_bounded() && keys < built / 4
    }
}

#[cfg(test)]
mod tests {
    use super::Upkeep::{Bounded, Published};
    use super::*;

    fn wear(keys: u32, built: u32, average: f32) -> Wear {
        Wear {
            keys,
            built,
            average,
            built_average: 1.5,
            level: 1,
        }
    }

    /// A leaf is adjusted when its average cost has doubled. From 8,192 keys on, it is adjusted
    /// only when a key is too many levels below it.
    #[test]
    fn the_published_rule_is_that_of_the_paper() {
        assert!(Published.adjusts(&wear(100, 50, 3.0)) && !Published.adjusts(&wear(100, 50, 2.99)));
        assert!(Published.adjusts(&wear(9, 9, 3.0)) && !Published.adjusts(&wear(8, 8, 3.0)));
        let large = |keys| Published.adjusts(&wear(keys, 50, 9.0));
        assert!(large(8_191) && !large(8_192));
        let deep = |level| {
            let wear = wear(9_000, 50, 9.0);
            Published.adjusts(&Wear { level, ..wear })
        };
        assert!(deep(513) && !deep(512));
        assert!(!Published.is_bloated(1_000, 1) && !Published.shrinks(1, 1_000));
        assert!(!Published.outgrown(1 << 30, 8));
    }

    #[test]
    fn the_bounded_rule_counts_keys_and_cells_too() {
        assert!(Bounded.adjusts(&wear(9_000, 8_000, 3.0)));
        assert!(Bounded.adjusts(&wear(150, 50, 1.5)) && !Bounded.adjusts(&wear(149, 50, 1.5)));
        assert!(Bounded.adjusts(&wear(8, 1, 1.5)) && !Bounded.adjusts(&wear(7, 1, 1.5)));
        assert!(Bounded.is_bloated(301, 100) && !Bounded.is_bloated(300, 100));
        assert!(Bounded.shrinks(24, 100) && !Bounded.shrinks(25, 100));
        assert!(Bounded.outgrown(30_000, 10_000) && !Bounded.outgrown(29_999, 10_000));
        assert!(!Bounded.outgrown(8_000, 10) && Bounded.outgrown(8_192, 10));
    }

    /// Two slots a key, 0.1 more after each adjustment; at most six with published upkeep, three
    /// with bounded.
    #[test]
    fn slots_a_key_grow_with_adjustments() {
        let published = [0, 1, 40, 90].map(|adjusted| Published.ratio(adjusted));
        assert_eq!(published, [2.0, 2.1, 6.0, 6.0]);
        assert_eq!(
            [0, 10, 90].map(|adjusted| Bounded.ratio(adjusted)),
            [2.0, 3.0, 3.0]
        );
    }
}
