//! The rules for rebuilding nodes.

use super::cache_line::{Node, Stats};
use super::map::Lipp;
use super::plant::{Room, plant, plant_node};
use super::walk::{collect, give_back};

/// The growth at which a node may be rebuilt, as a multiple of the keys it was built with.
const GROWN: u64 = 4;

/// A node is rebuilt when it has at most one in this many of the keys it was built with.
const EMPTIED: u64 = 2;

/// With published upkeep, nodes of fewer keys are not rebuilt.
const PUBLISHED_LEAST: u64 = 64;

/// With published upkeep, nodes of more keys are not rebuilt.
const PUBLISHED_MOST: u64 = 1_000_000;

/// The most nodes on a path with published upkeep, apart from a few more below a node that was just
/// rebuilt.
const PUBLISHED_DEEPEST: usize = 1_000;

/// A node on the path to a key, and the key's slot in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) node: Node,
    pub(super) slot: u32,
}

impl Stats {
    /// Whether a node has outgrown its model.
    ///
    /// The second rule also applies where as many keys are removed as inserted. On a path, each
    /// node was built for at most two thirds of the keys of the node above plus the keys that were
    /// put below that node since. These are, along the whole path, no more than the first node was
    /// built for. So the number of keys halves within 12 nodes.
    fn is_outgrown(&self) -> bool {
        let has_grown = self.keys >= GROWN * self.built && self.deeper * 10 >= self.put;
        let outside = self.below + self.above;
        has_grown || self.deeper >= self.built || outside * 2 >= self.built
    }

    /// As [`Stats::is_outgrown`] by the rule of the paper (section 4.3) and its public code.
    fn is_outgrown_as_published(&self) -> bool {
        let put = self.keys.saturating_sub(self.built);
        self.keys >= GROWN * self.built
            && (PUBLISHED_LEAST..=PUBLISHED_MOST).contains(&self.keys)
            && self.deeper * 10 >= put
    }

    /// The sides on which most of the recent keys were outside the model's range.
    fn room(&self) -> Room {
        let put = self.put.max(1);
        Room {
            below: self.below * 2 >= put,
            above: self.above * 2 >= put,
        }
    }
}

impl Lipp {
    /// Counts a new key in the nodes on its path and rebuilds the topmost one that has outgrown its
    /// model. With published upkeep this includes nodes on a path that is too deep. `met` tells
    /// whether the key's slot held another key.
    pub(super) fn count_put(&mut self, way: &[Step], key: u64, met: bool) {
        let mut outgrown = None;
        for (i, step) in way.iter().enumerate() {
            if !step.node.is_counted() {
                continue;
            }
            let model = &step.node.model;
            let mut stats = self.lines.stats(step.node);
            stats.keys += 1;
            stats.put += 1;
            stats.deeper += u64::from(met || !self.is_published && i + 1 < way.len());
            stats.below += u64::from(key < model.base());
            stats.above += u64::from(model.line(key) >= f64::from(model.slots()));
            self.lines.set_stats(step.node, stats);
            let is_outgrown = match self.is_published {
                true => {
                    stats.is_outgrown_as_published()
                        || way.len() > PUBLISHED_DEEPEST && stats.keys <= PUBLISHED_MOST
                }
                false => stats.is_outgrown(),
            };
            if is_outgrown && outgrown.is_none() {
                outgrown = Some((i, stats.room()));
            }
        }
        if let Some((i, room)) = outgrown {
            self.rebuild(way, i, room);
        }
    }

    /// Subtracts a removed key from the counts of the nodes on its path and rebuilds the topmost
    /// one that has become too empty.
    pub(super) fn count_remove(&mut self, way: &[Step]) {
        let mut emptied = None;
        for (i, step) in way.iter().enumerate() {
            if !step.node.is_counted() {
                continue;
            }
            let mut stats = self.lines.stats(step.node);
            stats.keys = stats.keys.saturating_sub(1);
            self.lines.set_stats(step.node, stats);
            let is_emptied =
                stats.keys <= 1 || !self.is_published && stats.keys * EMPTIED <= stats.built;
            if is_emptied && emptied.is_none() {
                emptied = Some(i);
            }
        }
        if let Some(i) = emptied {
            self.rebuild(way, i, Room::default());
        }
    }

    /// Rebuilds a node on a path with all nodes below it.
    fn rebuild(&mut self, way: &[Step], i: usize, room: Room) {
        let Some(step) = way.get(i) else { return };
        let keys = match step.node.is_counted() {
            true => self.lines.stats(step.node).keys as usize,
            false => 0,
        };
        let entries = collect(&self.lines, step.node, keys);
        #[cfg(test)]
        {
            self.rebuilt += entries.len() as u64;
        }
        let above = way.get(..i).unwrap_or_default();
        let room = if self.is_published {
            Room::default()
        } else {
            room
        };
        if above.is_empty() {
            self.lines.clear();
            self.root = plant_node(&mut self.lines, &entries, room);
            return;
        }
        give_back(&mut self.lines, step.node);
        let holds = plant(&mut self.lines, &entries, room);
        self.lead(above, holds);
        if !self.is_published && self.lines.is_wasteful() {
            self.rebuild(way, 0, Room::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(built: u64, keys: u64, deeper: u64) -> Stats {
        Stats {
            keys,
            built,
            put: keys - built,
            deeper,
            ..Stats::default()
        }
    }

    /// A node is rebuilt when it has four times the keys it was built with and a tenth of the new
    /// keys hit an occupied slot, provided that it has 64 to a million keys.
    #[test]
    fn the_published_rule_is_that_of_the_paper() {
        let outgrown = |stats: Stats| stats.is_outgrown_as_published();
        assert!(outgrown(stats(100, 400, 30)));
        assert!(!outgrown(stats(100, 399, 30)) && !outgrown(stats(100, 400, 29)));
        assert!(outgrown(stats(16, 64, 48)) && !outgrown(stats(15, 63, 48)));
        assert!(outgrown(stats(250_000, 1_000_000, 750_000)));
        assert!(!outgrown(stats(250_000, 1_000_001, 750_001)));
    }

    /// The rule of the paper at any size. A node is also rebuilt when as many new keys went below
    /// it as it was built with, or when half as many were outside the model's range.
    #[test]
    fn the_bounded_rule_counts_keys_below_and_outside() {
        let outgrown = |stats: Stats| stats.is_outgrown();
        assert!(
            outgrown(stats(1_000, 4_000, 300)) && outgrown(stats(2_000_000, 8_000_000, 600_000))
        );
        assert!(!outgrown(stats(1_000, 3_999, 300)) && !outgrown(stats(1_000, 4_000, 299)));
        assert!(outgrown(stats(100, 200, 100)) && !outgrown(stats(100, 200, 99)));
        let outside = |below, above| Stats {
            below,
            above,
            ..stats(100, 150, 0)
        };
        assert!(outgrown(outside(25, 25)) && !outgrown(outside(25, 24)));
    }

    #[test]
    fn room_is_kept_on_sides_that_got_half_of_the_new_keys() {
        let room = |below, above| {
            let stats = Stats {
                below,
                above,
                ..stats(100, 150, 0)
            };
            (stats.room().below, stats.room().above)
        };
        assert_eq!(room(25, 25), (true, true));
        assert_eq!((room(24, 25), room(25, 24)), ((false, true), (true, false)));
    }
}
