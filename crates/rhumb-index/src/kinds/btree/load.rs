//! Bulk loading: full leaves with full inner nodes above them.

use super::keys::Stored;
use super::{BTree, FAN_OUT, LEAF};
use crate::IndexError;
use crate::updatable::ascending;

/// A node of the level built last, and its bound in the level above.
struct Child<K: Stored + ?Sized> {
    id: u32,
    /// `None` for the last node of the level.
    bound: Option<K::Owned>,
}

/// A tree of these entries.
///
/// # Errors
/// [`IndexError::Unsorted`] if they do not ascend.
pub(super) fn load<K: Stored + ?Sized>(
    entries: &[(K::Owned, u64)],
) -> Result<BTree<K>, IndexError> {
    ascending(entries)?;
    let mut tree = BTree::default();
    if entries.is_empty() {
        return Ok(tree);
    }
    let mut level = leaves(&mut tree, entries);
    while level.len() > 1 {
        level = inners(&mut tree, level);
        tree.inner_levels += 1;
    }
    tree.root = level.first().map_or(tree.root, |child| child.id);
    tree.len = entries.len();
    Ok(tree)
}

/// The prefix that all keys below a child share, given its bound and that of the child before it.
fn shared<K: Stored + ?Sized>(before: Option<&Child<K>>, bound: Option<&K::Owned>) -> K::Skip {
    match (before.and_then(|before| before.bound.as_ref()), bound) {
        (Some(low), Some(high)) => K::shared(K::borrowed(low), K::borrowed(high)),
        _ => K::Skip::default(),
    }
}

fn leaves<K: Stored + ?Sized>(tree: &mut BTree<K>, entries: &[(K::Owned, u64)]) -> Vec<Child<K>> {
    let mut level: Vec<Child<K>> = Vec::with_capacity(entries.len().div_ceil(LEAF));
    let mut rest = entries;
    while !rest.is_empty() {
        let (own, behind) = rest.split_at(rest.len().min(LEAF));
        rest = behind;
        // A new tree has an empty leaf.
        let id = if level.is_empty() {
            tree.root
        } else {
            tree.leaves.add()
        };
        let bound = match (own.last(), behind.first()) {
            (Some((last, _)), Some((next, _))) => {
                Some(K::between(K::borrowed(last), K::borrowed(next)))
            }
            _ => None,
        };
        let leaf = tree.leaves.node_mut(id);
        leaf.keys.skip_more(shared(level.last(), bound.as_ref()), 0);
        for (at, (key, value)) in own.iter().enumerate() {
            leaf.keys.set(at, Some(K::borrowed(key)));
            leaf.values[at] = *value;
        }
        tree.leaves.set_len(id, own.len());
        level.push(Child { id, bound });
    }
    level
}

fn inners<K: Stored + ?Sized>(tree: &mut BTree<K>, below: Vec<Child<K>>) -> Vec<Child<K>> {
    let mut level: Vec<Child<K>> = Vec::with_capacity(below.len().div_ceil(FAN_OUT));
    let mut left = below.len();
    let mut below = below.into_iter();
    while left > 0 {
        // Every inner node needs at least two children.
        let len = if left == FAN_OUT + 1 {
            FAN_OUT - 1
        } else {
            left.min(FAN_OUT)
        };
        left -= len;
        let own: Vec<Child<K>> = below.by_ref().take(len).collect();
        let bound = own.last().and_then(|child| child.bound.clone());
        let id = tree.inners.add();
        let inner = tree.inners.node_mut(id);
        inner
            .bounds
            .skip_more(shared(level.last(), bound.as_ref()), 0);
        for (at, child) in own.iter().enumerate() {
            inner.bounds.set(at, child.bound.as_ref().map(K::borrowed));
            inner.children[at] = child.id;
        }
        tree.inners.set_len(id, len);
        level.push(Child { id, bound });
    }
    level
}
