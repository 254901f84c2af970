//! Range deletes compared with a plain list of ranges.

use super::*;
use proptest::prelude::*;

/// A range delete as inserted.
type Asked = (Vec<u8>, Vec<u8>, Sequence);

fn build(asked: &[Asked]) -> RangeDeletes {
    let mut built = RangeDeletes::default();
    for (start, end, sequence) in asked {
        built.insert(start, end, *sequence);
    }
    built
}

fn naive(asked: &[Asked], key: &[u8], visible: Sequence) -> Option<Sequence> {
    let holds = |a: &&Asked| &*a.0 <= key && key < &*a.1 && a.2 <= visible;
    asked.iter().filter(holds).map(|a| a.2).max()
}

fn check_form(list: &RangeDeletes) {
    for f in list.fragments() {
        assert!(f.start < f.end && !f.sequences.is_empty());
        assert!(f.sequences.windows(2).all(|s| s[0] > s[1]));
    }
    for pair in list.fragments().windows(2) {
        assert!(pair[0].end <= pair[1].start);
        assert!(pair[0].end < pair[1].start || pair[0].sequences != pair[1].sequences);
    }
}

/// Keys that together distinguish all ranges used below.
fn probes() -> Vec<Vec<u8>> {
    let mut keys = vec![vec![]];
    for a in 0..6 {
        keys.push(vec![a]);
        keys.extend((0..6).map(|b| vec![a, b]));
    }
    keys
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..6, 0..3)
}

fn asked(most: usize) -> impl Strategy<Value = Vec<Asked>> {
    prop::collection::vec((key(), key(), 1u64..12), 0..most)
}

proptest! {
    #[test]
    fn covering_is_what_the_ranges_say(asked in asked(16)) {
        let built = build(&asked);
        check_form(&built);
        for key in probes() {
            for visible in [0, 1, 3, 5, 8, 11, u64::MAX] {
                prop_assert_eq!(built.covering(&key, visible), naive(&asked, &key, visible));
            }
        }
    }

    #[test]
    fn order_of_insertion_and_merging_do_not_matter(
        one in asked(10), two in asked(10), three in asked(3)
    ) {
        let all = [one.clone(), two.clone(), three.clone()].concat();
        let reversed: Vec<Asked> = all.iter().rev().cloned().collect();
        let expected = build(&all);
        prop_assert_eq!(&build(&reversed), &expected);
        let lists = [build(&one), build(&two), build(&three)];
        let pieces: Vec<Piece<'_>> = lists.iter().flat_map(RangeDeletes::pieces).collect();
        let everybody: Vec<Sequence> = (0..12).collect();
        prop_assert_eq!(&RangeDeletes::merge(&pieces, &everybody), &expected);
    }

    #[test]
    fn merging_keeps_what_each_snapshot_sees_and_no_more(
        asked in asked(12), snapshots in prop::collection::btree_set(0u64..13, 0..4)
    ) {
        let mut tree = RangeDeleteTree::default();
        for (start, end, sequence) in asked.iter().filter(|a| a.0 < a.1) {
            tree.insert(start, end, *sequence);
        }
        let snapshots: Vec<Sequence> = snapshots.into_iter().collect();
        let merged = RangeDeletes::merge(&tree.pieces(), &snapshots);
        check_form(&merged);
        for key in probes() {
            for &snapshot in snapshots.iter().chain(&[u64::MAX]) {
                prop_assert_eq!(merged.covering(&key, snapshot), naive(&asked, &key, snapshot));
            }
        }
        for fragment in merged.fragments() {
            let stripe = |s: &Sequence| snapshots.partition_point(|snapshot| snapshot < s);
            prop_assert!(fragment.sequences.windows(2).all(|s| stripe(&s[0]) > stripe(&s[1])));
        }
    }

    #[test]
    fn truncation_keeps_what_is_inside(
        asked in asked(12), from in prop::option::of(key()), to in prop::option::of(key())
    ) {
        let cut = build(&asked).truncate(from.as_deref(), to.as_deref());
        check_form(&cut);
        for key in probes() {
            let inside = from.as_ref().is_none_or(|f| *f <= key) && to.as_ref().is_none_or(|t| key < *t);
            let expected = naive(&asked, &key, 7).filter(|_| inside);
            prop_assert_eq!(cut.covering(&key, 7), expected);
        }
    }

    #[test]
    fn retaining_drops_sequences(asked in asked(12), bits in any::<u16>()) {
        let kept = |s: Sequence| bits >> s & 1 == 1;
        let mut built = build(&asked);
        built.retain(|_, _, s| kept(s));
        let asked: Vec<Asked> = asked.into_iter().filter(|a| kept(a.2)).collect();
        prop_assert_eq!(built, build(&asked));
    }

    #[test]
    fn a_tree_is_what_the_ranges_say_at_every_moment(asked in asked(40)) {
        let mut tree = RangeDeleteTree::default();
        let mut copies = Vec::new();
        for (n, (start, end, sequence)) in asked.iter().enumerate() {
            copies.push((n, tree.clone()));
            if start < end {
                prop_assert!(tree.insert(start, end, *sequence) > 0);
            }
        }
        copies.push((asked.len(), tree));
        for (n, tree) in copies.iter().rev().step_by(5) {
            for key in probes() {
                for visible in [0, 1, 3, 5, 8, 11, u64::MAX] {
                    prop_assert_eq!(tree.covering(&key, visible), naive(&asked[..*n], &key, visible));
                }
            }
        }
    }

    #[test]
    fn spans_are_deleted_alike(asked in asked(12), visible in 0u64..13) {
        let list = build(&asked);
        let mut tree = RangeDeleteTree::default();
        for (start, end, sequence) in asked.iter().filter(|a| a.0 < a.1) {
            tree.insert(start, end, *sequence);
        }
        for key in probes() {
            let spans = [list.around(&key, visible), tree.around(&key, visible)];
            for span in spans.into_iter().chain([spans[0].and(spans[1])]) {
                let holds = |key: &[u8]| span.from <= key && span.to.is_none_or(|to| key < to);
                prop_assert!(holds(&key));
                for neighbour in probes().iter().filter(|k| holds(k)) {
                    let expected = naive(&asked, neighbour, visible).unwrap_or(0);
                    prop_assert_eq!(span.sequence, expected);
                }
            }
        }
    }

    #[test]
    fn encoding_comes_back_and_every_cut_is_refused(asked in asked(8)) {
        let built = build(&asked);
        let mut bytes = Vec::new();
        built.encode(&mut bytes);
        prop_assert_eq!(RangeDeletes::decode(&bytes), Ok(built));
        for cut in 0..bytes.len() {
            prop_assert!(RangeDeletes::decode(&bytes[..cut]).is_err());
        }
        bytes.push(0);
        let error = RangeDeletes::decode(&bytes).unwrap_err();
        prop_assert_eq!((error.offset, error.found), (bytes.len() - 1, "more bytes"));
    }

    #[test]
    fn damaged_bytes_never_make_an_unsound_list(
        asked in asked(6), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = Vec::new();
        build(&asked).encode(&mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(list) = RangeDeletes::decode(&bytes) {
            for f in list.fragments() {
                prop_assert!(f.start < f.end && f.sequences.windows(2).all(|s| s[0] > s[1]));
            }
            prop_assert!(list.fragments().windows(2).all(|f| f[0].end <= f[1].start));
        }
    }
}

#[test]
fn decoding_names_what_is_wrong() {
    let refused = |bytes: &[u8]| RangeDeletes::decode(bytes).unwrap_err().expected;
    assert_eq!(refused(&[]), "a number of fragments");
    assert_eq!(
        refused(&[1, 1, b'b', 1, b'a', 1, 5]),
        "a range that ends after its start"
    );
    assert_eq!(refused(&[1, 1, b'a', 1, b'b', 0]), "at least one sequence");
    assert_eq!(
        refused(&[1, 1, b'a', 1, b'b', 2, 5, 5]),
        "descending sequences"
    );
    let twice = [2, 1, b'a', 1, b'c', 1, 5, 1, b'b', 1, b'd', 1, 5];
    assert_eq!(refused(&twice), "fragments that ascend");
    assert_eq!(refused(&[0, 0]), "the end of the range deletes");
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(refused(&huge), "a start key");
}

#[test]
fn empty_and_inverted_ranges_are_ignored() {
    let mut list = RangeDeletes::default();
    list.insert(b"a", b"a", 1);
    list.insert(b"b", b"a", 2);
    list.insert(b"", b"", 3);
    assert!(list.is_empty() && list.bytes() == 0);
    assert_eq!((list.smallest_start(), list.largest_end()), (None, None));
    list.insert(b"", b"a", 4);
    assert_eq!(list.smallest_start(), Some(&b""[..]));
    assert_eq!(list.largest_end(), Some(&b"a"[..]));
    assert!(list.bytes() > 0);
}

#[test]
fn a_thousand_ranges_go_in() {
    let mut list = RangeDeletes::default();
    for i in (0..1000u32).rev() {
        list.insert(&i.to_be_bytes(), &(i + 3).to_be_bytes(), u64::from(i) + 1);
    }
    check_form(&list);
    assert_eq!(list.fragments().len(), 1002);
    assert_eq!(list.covering(&500u32.to_be_bytes(), 500), Some(500));
    assert_eq!(list.covering(&500u32.to_be_bytes(), 498), None);
}

#[test]
fn growing_ranges_take_room_in_proportion_to_their_number() {
    let bytes = |ranges: u32| {
        let mut tree = RangeDeleteTree::default();
        let grown = (1..=ranges).map(|n| tree.insert(&[], &n.to_be_bytes(), n.into()));
        let bytes: usize = grown.sum();
        assert_eq!(tree.pieces().len(), ranges as usize);
        let merged = RangeDeletes::merge(&tree.pieces(), &[]);
        assert_eq!(merged.fragments().len(), 1);
        assert_eq!(merged.covering(&[], u64::MAX), Some(ranges.into()));
        assert_eq!(tree.covering(&[], 700), Some(700));
        bytes
    };
    assert!(bytes(1000) < 1 << 20);
    assert!(bytes(10_000) < 10 << 20);
}
