//! Fence pointers find the first block of a key whose versions fill several blocks.

use rhumb_index::{IndexError, IndexSpec, Position, Probe, registry};

fn block_of(index: &dyn rhumb_index::Index, key: &str) -> u64 {
    match index.locate(Probe {
        key: key.as_bytes(),
        number: 0,
    }) {
        Position::Block(block) => block,
        position => panic!("{position:?}"),
    }
}

fn fence_pointers() -> impl Iterator<Item = IndexSpec> {
    ["fp", "fp-raw"]
        .into_iter()
        .map(|text| text.parse().unwrap())
}

#[test]
fn the_first_of_several_blocks_is_found() {
    for spec in fence_pointers() {
        let mut builder = registry::builder(&spec).unwrap();
        // Blocks: a b | b b | b b | b c | d
        for key in ["a", "b", "c", "d"] {
            builder.push(key.as_bytes(), 0).unwrap();
        }
        for (last, first) in [("b", "b"), ("b", "b"), ("b", "b"), ("c", "d")] {
            builder.cut(last.as_bytes(), first.as_bytes());
        }
        let index = registry::open(builder.finish().unwrap()).unwrap();
        assert_eq!(index.extent(), 5);
        let expected = [
            ("", 0),
            ("a", 0),
            ("b", 0),
            ("b\0", 3),
            ("c", 3),
            ("cc", 3),
            ("d", 4),
        ];
        for (key, block) in expected {
            assert_eq!(block_of(index.as_ref(), key), block, "{key:?} of {spec}");
        }
    }
}

#[test]
fn a_key_in_one_block_after_another_key_is_found_there() {
    for spec in fence_pointers() {
        let mut builder = registry::builder(&spec).unwrap();
        builder.cut(b"apple", b"apricot");
        builder.cut(b"apricot", b"apricot");
        builder.cut(b"apricot", b"apricots");
        let index = registry::open(builder.finish().unwrap()).unwrap();
        assert_eq!(block_of(index.as_ref(), "apple"), 0);
        assert_eq!(block_of(index.as_ref(), "apricot"), 1);
        assert_eq!(block_of(index.as_ref(), "apricots"), 3);
    }
}

#[test]
fn keys_and_cuts_that_do_not_ascend_are_refused() {
    for kind in registry::kinds() {
        let spec: IndexSpec = kind.name.parse().unwrap();
        let mut builder = registry::builder(&spec).unwrap();
        builder.push(b"b", 2).unwrap();
        assert_eq!(builder.push(b"b", 3), Err(IndexError::Unsorted { rank: 1 }));
        assert_eq!(builder.push(b"a", 3), Err(IndexError::Unsorted { rank: 1 }));
        if kind.needs_number {
            let error = IndexError::UnsortedNumbers {
                rank: 1,
                number: 1,
                before: 2,
            };
            assert_eq!(builder.push(b"c", 1), Err(error));
            assert_eq!(builder.push(b"a", 1), Err(IndexError::Unsorted { rank: 1 }));
        }
    }
    for spec in fence_pointers() {
        let mut builder = registry::builder(&spec).unwrap();
        builder.cut(b"b", b"c");
        builder.cut(b"c", b"a");
        assert_eq!(
            builder.finish(),
            Err(IndexError::UnsortedBlocks { block: 2 })
        );
    }
}
