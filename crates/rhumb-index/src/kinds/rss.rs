//! The Radix String Spline (Spector et al., "Bounding the last mile: efficient learned string indexing", AIDB 2021) over the
//! bounds of blocks.
//!
//! As published it is a tree whose nodes look at 8 bytes of a string after the prefix that all of a node's strings share, with a
//! spline over these *chunks* as numbers, and a child wherever a spline cannot tell strings apart. Over all keys of a table that
//! takes more than fence pointers do: on file paths 1.6 times as much at an error of 128. Over one shortest separator a block
//! there are so few strings that a sorted row of chunks replaces the spline, exactly, and a node has children only where
//! separators tie.
//!
//! # Form
//!
//! A node covers separators that share all bytes up to its depth: the bytes of the node's *prefix* and those before it. Its
//! *slots* are the different chunks of its separators: the 8 bytes from its depth on as a big-endian number, with zeros after the
//! end. A slot is *plain* if one separator has the chunk and ends inside it, without a zero at its end: then the chunk says all.
//! Other slots have a record: the lengths from the depth on, at most 8, of separators that end inside the chunk; and, if any go
//! on, the rest of a few, front-coded, or a child node whose depth begins behind the chunk.
//!
//! A look-up goes down the tree: at each node it compares the prefix once, and searches the slots by halves. It ends where the
//! key's chunk is not there, or at a plain slot: after O(log B) steps a level for B separators. Building takes time linear in
//! the bytes of the separators. All keys are supported.

mod build;
mod tree;

use super::shared::separators::{Cut, FenceBuilder};
use crate::kind::{Answers, FORM_ONLY, Kind};

pub(crate) const KIND: Kind = Kind {
    name: "rss",
    id: 19,
    about: "a tree of 8-byte chunks over shortest separators (after Radix String Spline, Spector et al., AIDB 2021)",
    knobs: &[],
    needs_number: false,
    answers: Answers::Blocks,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |_| Box::new(FenceBuilder::new(&KIND, Cut::Shortest, 0, build::encode)),
    open: |bytes| Ok(Box::new(tree::Rss::open(bytes)?)),
};

/// Where the nodes start, the root first: behind the common header, the number of separators and the bytes of all nodes.
const NODES_AT: usize = crate::kind::HEADER + 8;

/// Bytes of a node before its prefix.
const NODE_HEADER: usize = 16;

/// The most separators in a list: a node for so few takes more bytes, and is hardly searched faster.
const LIST_MOST: usize = 16;

/// Bytes of a chunk.
const CHUNK: usize = 8;

/// Set in a node's flags if the numbers of its slots take 4 bytes, not 2.
const WIDE: u16 = 1;

/// What follows the lengths in a record.
mod goes_on {
    pub const NO: u8 = 0;
    /// The number of a few separators, and what follows the chunk in them, front-coded.
    pub const LIST: u8 = 1;
    /// The place of a child node, 4 bytes.
    pub const CHILD: u8 = 2;
}

#[cfg(test)]
mod tests {
    use crate::check::{SplitMix64, from_env};
    use crate::{Index, IndexBuilder, Probe, registry};

    /// An index of this kind over blocks that begin with these keys but for the first; equal neighbours are blocks of one key.
    fn index(kind: &str, keys: &[Vec<u8>]) -> Box<dyn Index> {
        let mut builder: Box<dyn IndexBuilder> = registry::builder(&kind.parse().unwrap()).unwrap();
        for pair in keys.windows(2) {
            builder.cut(&pair[0], &pair[1]);
        }
        registry::open(builder.finish().unwrap()).unwrap()
    }

    /// Whatever the keys are, blocks are those of fence pointers.
    fn agrees(keys: &[Vec<u8>], random: &mut SplitMix64, seed: u64) {
        let (fences, tree) = (index("fp", keys), index("rss", keys));
        assert_eq!(fences.extent(), tree.extent());
        let check = |key: &[u8]| {
            let probe = Probe { key, number: 0 };
            let (expected, found) = (fences.locate(probe), tree.locate(probe));
            assert_eq!(
                found, expected,
                "RHUMB_SEED={seed}: {key:02x?} in {keys:02x?}"
            );
        };
        for key in keys {
            check(key);
            check(&[&key[..], &[0]].concat());
            check(&key[..random.below(key.len() as u64 + 1) as usize]);
            let mut other = key.clone();
            if let Some(byte) = other.last_mut() {
                *byte = byte.wrapping_sub(1);
            }
            check(&other);
            other.push(0xff);
            check(&other);
        }
        check(&[]);
        check(&[0xff; 40]);
    }

    #[test]
    fn blocks_are_those_of_fence_pointers() {
        let seed = from_env("RHUMB_SEED", 0x0072_7373);
        println!("replay with RHUMB_SEED={seed}");
        let mut random = SplitMix64::new(seed);
        for _ in 0..3_000 {
            // Few symbols, zeros among them, so that keys share much and end inside chunks.
            let symbols = [&[0, 1][..], &[0, b'a', 0xff], b"abc"];
            let symbols = symbols[random.below(3) as usize];
            let longest = [3, 9, 17, 40][random.below(4) as usize];
            let stem = random.bytes(random.clone().below(20) as usize, 256);
            let mut keys: Vec<Vec<u8>> = (0..random.below(60))
                .map(|_| {
                    let len = random.below(longest);
                    let rest =
                        (0..len).map(|_| symbols[random.below(symbols.len() as u64) as usize]);
                    [&stem[..], &rest.collect::<Vec<u8>>()].concat()
                })
                .collect();
            keys.sort();
            agrees(&keys, &mut random, seed);
        }
    }

    #[test]
    fn long_keys_and_many_equal_bounds_are_found() {
        let mut random = SplitMix64::new(1);
        // Each is a prefix of the next: the tree is as deep as it gets.
        let deep: Vec<Vec<u8>> = (0..300).map(|n| vec![7; n * 219]).collect();
        agrees(&deep, &mut random, 0);
        let zeros: Vec<Vec<u8>> = (0..200).map(|n| vec![0; n]).collect();
        agrees(&zeros, &mut random, 0);
        let mut equal = vec![b"one key".to_vec(); 1_000];
        equal.extend(vec![vec![0xee; 70_000]; 3]);
        agrees(&equal, &mut random, 0);
        // What they share has a longer length than two bytes count.
        let stem = vec![5; 70_000];
        let long: Vec<Vec<u8>> = (0..400u32)
            .map(|n| [&stem[..], &n.to_be_bytes(), &[7; 9]].concat())
            .collect();
        agrees(&long, &mut random, 0);
        // More separators than two bytes count.
        let many: Vec<Vec<u8>> = (0..70_000u64).map(|n| format!("/{n:08}").into()).collect();
        agrees(&many, &mut random, 0);
    }
}
