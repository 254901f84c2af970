//! Builds the nodes for entries.

use super::arena::Arena;
use super::cache_line::{Node, SLOTS, Slot, Stats, rounded};
use super::fmcd::{FittedModel, runs};
use super::model::Model;

/// The sides of its keys on which a node gets as much room again as they take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Room {
    pub(super) below: bool,
    pub(super) above: bool,
}

/// Slots of a node of this many keys.
pub(super) fn slots_for(keys: usize) -> u32 {
    let per_key = match keys {
        1_000_000.. => 2,
        100_000.. => 3,
        _ => 4,
    };
    u32::try_from(keys.saturating_mul(per_key))
        .unwrap_or(u32::MAX)
        .min(1 << 30)
}

/// The content of a slot for these ascending entries.
pub(super) fn plant(lines: &mut Arena, entries: &[(u64, u64)], room: Room) -> Slot {
    match *entries {
        [] => Slot::Empty,
        [(key, value)] => Slot::Entry(key, value),
        _ => Slot::Child(plant_node(lines, entries, room)),
    }
}

/// A node for ascending entries, also for none.
pub(super) fn plant_node(lines: &mut Arena, entries: &[(u64, u64)], room: Room) -> Node {
    let model = model(entries, room);
    let node = lines.take(model);
    if node.is_counted() {
        let keys = entries.len() as u64;
        let stats = Stats {
            keys,
            built: keys,
            ..Stats::default()
        };
        lines.set_stats(node, stats);
    }
    for (slot, run) in runs(model, entries) {
        let holds = plant(lines, run, Room::default());
        lines.set(node, slot, holds);
    }
    node
}

fn model(entries: &[(u64, u64)], room: Room) -> Model {
    match *entries {
        [] => Model::splitting(0, 0, SLOTS),
        [(key, _)] => Model::splitting(key, key, SLOTS),
        // Mostly slots 0 and 2.
        [(first, _), (second, _)] => {
            let middle = first + (second - first).div_ceil(2);
            Model::splitting(first, middle, SLOTS)
        }
        [(first, _), (second, _), (third, _)] => Model::of_three([first, second, third], SLOTS),
        _ => {
            let fit = FittedModel::new(entries, slots_for(entries.len()), rounded);
            let own = fit.model.slots();
            let sides = u32::from(room.below) + u32::from(room.above);
            if sides == 0 || !fit.is_line || own > 1 << 28 {
                return fit.model;
            }
            let below = if room.below { own } else { 0 };
            fit.model.extended(below, rounded(own + sides * own))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_nodes_have_fewer_slots_a_key() {
        let slots = [99_999, 100_000, 999_999, 1_000_000].map(slots_for);
        assert_eq!(slots, [399_996, 300_000, 2_999_997, 2_000_000]);
    }
}
