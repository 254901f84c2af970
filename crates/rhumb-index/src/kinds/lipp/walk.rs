//! Scans entries in order.

use std::ops::ControlFlow;

use super::arena::Arena;
use super::cache_line::{CacheLine, Node, SLOTS, Slot};
use crate::updatable::Depth;

type Visit<'a> = &'a mut dyn FnMut(&u64, u64) -> ControlFlow<()>;

/// Visits the entries of a node in ascending order, from the first whose key is not below `from`.
pub(super) fn walk(lines: &Arena, node: Node, from: u64, visit: Visit<'_>) -> ControlFlow<()> {
    let slot = node.model.slot(from);
    lines.expect(node, slot + SLOTS);
    // Slots before that of `from` have only keys below it.
    match lines.slot(node, slot) {
        Slot::Child(child) => walk(lines, child, from, visit)?,
        Slot::Entry(key, value) if key >= from => visit(&key, value)?,
        _ => {}
    }
    rest(lines, node, slot + 1, visit)
}

/// Visits the entries of a node from a slot on.
fn rest(lines: &Arena, node: Node, slot: u32, visit: Visit<'_>) -> ControlFlow<()> {
    let mut at = slot / SLOTS;
    while let Some(used) = lines.next_used(node, at) {
        let line = lines.line(node.first + used);
        // Only the first line can have slots before `slot`.
        for i in slot.saturating_sub(used * SLOTS)..SLOTS {
            match line.slot(i) {
                Slot::Child(child) => rest(lines, child, 0, visit)?,
                Slot::Entry(key, value) => visit(&key, value)?,
                Slot::Empty => {}
            }
        }
        at = used + 1;
    }
    ControlFlow::Continue(())
}

/// The entries of a node in ascending order; `keys` is their approximate number.
pub(super) fn collect(lines: &Arena, root: Node, keys: usize) -> Vec<(u64, u64)> {
    let mut entries = Vec::with_capacity(keys);
    let _ = rest(lines, root, 0, &mut |&key, value| {
        entries.push((key, value));
        ControlFlow::Continue(())
    });
    entries
}

/// Frees the lines of a node and of all nodes below.
pub(super) fn give_back(lines: &mut Arena, root: Node) {
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        for at in 0..node.lines() {
            left.extend(children(lines.line(node.first + at)));
        }
        lines.give_back(node);
    }
}

/// The depth of the keys below a node, in nodes.
pub(super) fn depth(lines: &Arena, root: Node) -> Depth {
    let (mut keys, mut levels, mut max) = (0u64, 0u64, 0);
    let mut left = vec![(root, 1)];
    while let Some((node, level)) = left.pop() {
        for at in 0..node.lines() {
            let line = lines.line(node.first + at);
            let below = children(line).count();
            left.extend(children(line).map(|child| (child, level + 1)));
            let own = u64::from(line.filled.count_ones()) - below as u64;
            if own > 0 {
                (keys, levels, max) = (keys + own, levels + own * level as u64, level.max(max));
            }
        }
    }
    Depth {
        mean: levels as f64 / keys.max(1) as f64,
        max,
    }
}

fn children(line: &CacheLine) -> impl Iterator<Item = Node> {
    (0..3).filter(|i| line.has_child(*i)).map(|i| line.child(i))
}
