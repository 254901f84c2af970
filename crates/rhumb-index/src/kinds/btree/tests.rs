//! Memory and depth stay within their bounds for any order of inserts and removes.

use super::*;
use crate::check::SplitMix64;

const KEYS: u64 = 100_000;

fn shuffled(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut keys: Vec<u64> = keys.collect();
    let mut random = SplitMix64::new(8);
    for i in (1..keys.len()).rev() {
        keys.swap(i, random.below(i as u64 + 1) as usize);
    }
    keys
}

/// Every node but those at the edges is at least a quarter full, and inner nodes have two children.
fn is_sound<K: Stored + ?Sized>(tree: &BTree<K>, node: u32, levels: usize, edges: [bool; 2]) {
    let is_edge = edges.contains(&true);
    if levels == 0 {
        assert!(is_edge || tree.leaves.len(node) >= LEAF / 4);
        return;
    }
    let len = tree.inners.len(node);
    assert!(len >= if is_edge { 2 } else { FAN_OUT / 4 }, "{len}");
    let inner = tree.inners.node(node);
    for slot in 0..len {
        let edges = [edges[0] && slot == 0, edges[1] && slot == len - 1];
        assert_eq!(inner.bounds.is_pad(slot), edges[1]);
        is_sound(tree, inner.children[slot], levels - 1, edges);
    }
}

pub(super) fn check<K: Stored + ?Sized>(tree: &BTree<K>) {
    is_sound(tree, tree.root, tree.inner_levels, [true; 2]);
    // Unused leaves count too.
    let places = tree.leaves.count() * LEAF;
    assert!(places <= 4 * tree.len + 256, "{places} for {}", tree.len);
}

#[test]
fn keys_inserted_in_order_leave_full_leaves() {
    let ascending: Vec<u64> = (0..KEYS).collect();
    let descending: Vec<u64> = (0..KEYS).rev().collect();
    let mut loaded = BTree::<u64>::default();
    let entries: Vec<_> = ascending.iter().map(|key| (*key, 7)).collect();
    loaded.bulk_load(&entries).unwrap();
    check(&loaded);
    for keys in [ascending, descending] {
        let mut tree = BTree::<u64>::default();
        for key in &keys {
            tree.insert(key, 1);
        }
        check(&tree);
        assert!(tree.leaves.nodes().count() <= KEYS as usize / LEAF + 1);
        assert!(tree.depth().max <= loaded.depth().max + 1);
    }
    // The first chunk of an arena has room for up to twice as many nodes as there are.
    assert!(loaded.size_in_bytes() < 2 * 18 * KEYS as usize);
}

fn loaded<K: Stored + ?Sized>(entries: &[(K::Owned, u64)]) -> BTree<K> {
    let mut tree = BTree::default();
    tree.bulk_load(entries).unwrap();
    tree
}

fn inserted<K: Stored + ?Sized>(entries: &[(K::Owned, u64)]) -> BTree<K> {
    let mut tree = BTree::default();
    for i in shuffled(0..entries.len() as u64) {
        let (key, value) = &entries[i as usize];
        tree.insert(K::borrowed(key), *value);
    }
    tree
}

/// Removes all but `keep` keys from a tree, in this order, and compares its size with that of a
/// tree of the remaining keys.
fn is_given_back<K: Stored + ?Sized>(
    mut tree: BTree<K>,
    entries: &[(K::Owned, u64)],
    order: &[u64],
    keep: usize,
) {
    let most = tree.size_in_bytes();
    for i in order.iter().skip(keep) {
        let key = K::borrowed(&entries[*i as usize].0);
        assert_eq!(tree.remove(key), Some(2));
    }
    check(&tree);
    assert_eq!(tree.len(), keep);
    assert!(tree.depth().max <= 1 + keep.max(4).ilog(4) as usize);
    let mut left = Vec::new();
    let _ = tree.walk_below(tree.root, tree.inner_levels, None, &mut |key, value| {
        left.push((key.to_key(), value));
        ControlFlow::Continue(())
    });
    let (size, needed) = (tree.size_in_bytes(), loaded::<K>(&left).size_in_bytes());
    // Four times as much, doubled for room for future nodes, and 32 leaves.
    assert!(size < 8 * needed + 20_000, "{keep}: {size}, {needed}");
    // Freed memory is used again.
    for i in shuffled(0..entries.len() as u64) {
        tree.upsert(K::borrowed(&entries[i as usize].0), 3);
    }
    check(&tree);
    let again = tree.size_in_bytes();
    assert!(again < 2 * most, "{keep}: {again}, {most}");
}

fn removes_give_back<K: Stored + ?Sized>(key: fn(u64) -> K::Owned) {
    let entries: Vec<_> = (0..KEYS / 2).map(|i| (key(i), 2)).collect();
    let ascending: Vec<u64> = (0..KEYS / 2).collect();
    let descending: Vec<u64> = ascending.iter().rev().copied().collect();
    for keep in [0, 1, 30, 3_000] {
        is_given_back(
            inserted::<K>(&entries),
            &entries,
            &shuffled(0..KEYS / 2),
            keep,
        );
        is_given_back(loaded::<K>(&entries), &entries, &ascending, keep);
        is_given_back(loaded::<K>(&entries), &entries, &descending, keep);
    }
}

#[test]
fn removes_reduce_memory_and_depth() {
    removes_give_back::<u64>(|i| i);
    removes_give_back::<[u8]>(|i| format!("key/{i:06}").into_bytes().into());
}

#[test]
fn at_least_a_quarter_of_the_memory_is_used() {
    // Always in the middle of the present keys: no leaf is at an edge.
    let mut tree = BTree::<u64>::default();
    let key = |i: u64| if i.is_multiple_of(2) { i } else { u64::MAX - i };
    for i in 0..KEYS {
        tree.insert(&key(i), i);
    }
    check(&tree);
    // Nothing was removed: splits leave halves.
    let leaves = tree.leaves.count();
    assert!(leaves * LEAF / 2 <= KEYS as usize + leaves, "{leaves}");
    // Leaves are thinned out as far as possible, and then filled at one end only.
    for i in (0..KEYS).filter(|i| i % 16 >= 4) {
        assert_eq!(tree.remove(&key(i)), Some(i));
        if i % 1000 == 7 {
            check(&tree);
        }
    }
    check(&tree);
    // Bursts anywhere, which are removed in other orders than inserted, and sliding windows.
    let mut random = SplitMix64::new(31);
    for _ in 0..300 {
        let (base, width) = (random.next_u64() >> 1, 1 << (10 + random.below(46)));
        let burst: Vec<u64> = (0..random.below(800))
            .map(|_| base + random.below(width))
            .collect();
        burst.iter().for_each(|key| _ = tree.upsert(key, 1));
        check(&tree);
        match random.below(3) {
            0 => burst.iter().for_each(|key| _ = tree.remove(key)),
            1 => burst.iter().rev().for_each(|key| _ = tree.remove(key)),
            _ => burst.iter().step_by(3).for_each(|key| _ = tree.remove(key)),
        }
        check(&tree);
    }
    let mut tree = BTree::<u64>::default();
    for i in 0..KEYS {
        tree.insert(&(u64::MAX - i * 1000), i);
        if i >= 1000 {
            assert!(tree.remove(&(u64::MAX - (i - 1000) * 1000)).is_some());
        }
        if i % 1000 == 0 {
            check(&tree);
        }
    }
    assert!(tree.size_in_bytes() < 200_000, "{}", tree.size_in_bytes());
}

#[test]
fn strings_skip_what_their_node_shares() {
    let mut tree = BTree::<[u8]>::default();
    let text = |i: u64| format!("/usr/share/doc/package-{:02}/{i:06}", i % 40).into_bytes();
    for i in shuffled(0..20_000) {
        tree.insert(&text(i), i);
    }
    check(&tree);
    let leaves = tree.leaves.nodes();
    let skips = leaves.filter(|leaf| leaf.keys.skip() >= 23).count();
    assert!(skips * 2 > tree.leaves.nodes().count(), "{skips}");
    for i in shuffled(0..20_000) {
        if i % 10 > 0 {
            assert_eq!(tree.remove(&text(i)), Some(i));
        }
    }
    check(&tree);
    for i in 0..20_000 {
        assert_eq!(tree.get(&text(i)), (i % 10 == 0).then_some(i));
    }
}

#[test]
fn the_largest_key_can_be_stored() {
    let mut tree = BTree::<u64>::default();
    for round in 0..40 {
        let key = u64::MAX - round;
        assert_eq!(tree.get(&key), None);
        assert!(tree.insert(&key, round));
        assert_eq!(tree.get(&u64::MAX), Some(0));
    }
    assert_eq!(tree.remove(&u64::MAX), Some(0));
    assert_eq!((tree.get(&u64::MAX), tree.remove(&u64::MAX)), (None, None));
    assert_eq!(tree.lower_bound(&u64::MAX), None);
}
