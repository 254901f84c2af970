//! Changes of blocks, against lists of their entries.

use super::*;

/// The addresses of all entries.
fn records(view: &View<'_>) -> Vec<u32> {
    (0..view.len()).map(|at| view.record(at).0).collect()
}

#[test]
fn entries_stay_in_order_when_they_are_inserted_and_cut() {
    let block = Block::default();
    block.fill(3, 7, 9, std::iter::empty());
    assert_eq!((block.skip(), block.mark(), block.view().next), (3, 7, 9));
    let mut expected = Vec::new();
    for n in 1..2000u32 {
        let view = block.view();
        let head = u64::from(n);
        if view.len() == SLOTS {
            let kept = n as usize * 31 % SLOTS;
            block.cut(&view, kept, n);
            expected.truncate(kept);
        } else {
            let at = n as usize * 7 % (view.len() + 1);
            let record = Address(n);
            let mut filled = SLOTS;
            block.insert(&view, at, Entry { head, record }, |slot| filled = slot);
            assert_eq!(block.view().slot(at), filled);
            expected.insert(at, n);
        }
        assert!(!view.is_still() && block.view().is_still());
        let view = block.view();
        assert_eq!(records(&view), expected);
        for (at, record) in expected.iter().enumerate() {
            assert_eq!(view.head(at), u64::from(*record));
            assert_eq!(block.record(view.state, at).0, *record);
        }
    }
}

/// One change later, all that a reader sees is as it was.
#[test]
fn a_change_leaves_what_the_state_before_holds() {
    let block = Block::default();
    let entry = |n: u32| Entry {
        head: u64::from(n),
        record: Address(n),
    };
    block.fill(0, 0, 0, (0..SLOTS as u32).map(entry));
    let full = block.view();
    block.cut(&full, 5, 0);
    assert!(!full.is_still() && !full.is_uncut());
    assert_eq!(records(&full), (0..SLOTS as u32).collect::<Vec<_>>());
    let cut = block.view();
    block.insert(&cut, 2, entry(98), |_| ());
    assert!(!cut.is_still() && cut.is_uncut());
    assert_eq!(records(&cut), [0, 1, 2, 3, 4]);
    assert_eq!(records(&block.view()), [0, 1, 98, 2, 3, 4]);
}

#[test]
fn a_block_takes_eight_cache_lines() {
    assert_eq!(size_of::<Block>(), 512);
}
