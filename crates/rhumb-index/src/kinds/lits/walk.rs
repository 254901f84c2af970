//! Walks over the nodes in memory, in the order of keys.

use std::ops::ControlFlow;

use super::leaf::Entries;
use super::node::{Body, Child, Common, Node, Way};

/// All entries below a child whose keys share `stem`.
pub(super) fn collect(child: &Child, stem: &[u8]) -> Entries {
    let mut entries = Entries::below(stem);
    let mut path = Vec::new();
    // The visitor never breaks off.
    let _ = visit_all(child, &mut path, &mut |key, value| {
        entries.push(key, value);
        ControlFlow::Continue(())
    });
    entries
}

pub(super) type Visit<'a> = dyn FnMut(&[u8], u64) -> ControlFlow<()> + 'a;

/// Visits all entries below a child whose keys begin with `path`.
fn visit_all(child: &Child, path: &mut Vec<u8>, visit: &mut Visit<'_>) -> ControlFlow<()> {
    match child {
        Child::Leaf(leaf) => leaf.visit(path, visit),
        Child::Node(node) => {
            visit_all(&node.outside[0], path, visit)?;
            visit_inside(node, 0, path, &mut |child, path| {
                visit_all(child, path, visit)
            })?;
            visit_all(&node.outside[1], path, visit)
        }
    }
}

/// Visits the children of a node from a slot, or an index, on; the child of neighbouring slots only
/// once.
fn visit_inside(
    node: &Node,
    from: usize,
    path: &mut Vec<u8>,
    visit: &mut dyn FnMut(&Child, &mut Vec<u8>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let at = path.len();
    path.extend_from_slice(&node.prefix);
    let flow = match &node.body {
        Body::Model { slots, .. } => {
            let runs = slots
                .get(from..)
                .unwrap_or_default()
                .chunk_by(|a, b| a == b);
            let places = runs.filter_map(|run| run.first());
            let mut children = places.filter_map(|place| node.children.get(*place as usize));
            children.try_for_each(|child| visit(child, path))
        }
        Body::Trie { .. } => {
            let mut children = node.children.iter().skip(from);
            children.try_for_each(|child| visit(child, path))
        }
    };
    path.truncate(at);
    flow
}

impl Common {
    /// Visits the entries not below `from`, which begins with `path` like all keys here.
    pub(super) fn visit_from(
        &self,
        child: &Child,
        from: &[u8],
        path: &mut Vec<u8>,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let node = match child {
            Child::Leaf(leaf) => {
                return leaf.visit(path, |key, value| match key < from {
                    true => ControlFlow::Continue(()),
                    false => visit(key, value),
                });
            }
            Child::Node(node) => node,
        };
        let way = self.way(node, from, &mut path.len());
        let below = &node.outside[0];
        let above = &node.outside[1];
        let slot = match way {
            Way::Above => return self.visit_from(above, from, path, visit),
            Way::Below => {
                self.visit_from(below, from, path, visit)?;
                visit_inside(node, 0, path, &mut |child, path| {
                    visit_all(child, path, visit)
                })?;
                return visit_all(above, path, visit);
            }
            Way::Inside(slot) => slot,
        };
        // Only the first child may have keys below `from`.
        let mut is_first = true;
        visit_inside(
            node,
            slot,
            path,
            &mut |child, path| match std::mem::take(&mut is_first) {
                true => self.visit_from(child, from, path, visit),
                false => visit_all(child, path, visit),
            },
        )?;
        visit_all(above, path, visit)
    }
}
