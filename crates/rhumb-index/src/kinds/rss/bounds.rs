//! A tree of chunks over the separators of blocks. Its answers are blocks.
//!
//! A node covers separators that share all bytes up to its depth: the bytes of the node's *prefix* and those before it. Its
//! *slots* are the different chunks of its separators. A slot is *plain* if one separator has the chunk and ends inside it, without a
//! zero at its end: then the chunk says all. A slot whose separators all go on, and are many, has a child node, whose depth begins
//! behind the chunk. Other slots have a record: the lengths from the depth on, at most those of a chunk, of separators that end
//! inside the chunk; and, if any go on, the rest of a few, front-coded, or a child node.
//!
//! A look-up goes down the tree: at each node it compares the prefix once, and searches the slots by halves. It ends where the
//! key's chunk is not there, or at a plain slot: after O(log B) steps a level for B separators. Building takes time linear in
//! the bytes of the separators. All keys are supported.
//!
//! # Form
//!
//! ```text
//! the nodes: 4 bytes number of separators, 4 bytes length of all nodes, the nodes, the root first
//! a node:    4 bytes first separator, 4 bytes number of separators, 4 bytes S, number of slots, 4 bytes C, number of children
//!            that slots have without a record, 2 bytes length of the prefix, 2 bytes flags, the prefix
//!            S chunks
//!            S x 2 or 4 bytes (flag 1): the first separator of each slot, from that of the node on
//!            S x 2 or 4 bytes: 0 for a plain slot, n for child n from 1 on, C + 1 + n for the record at byte n
//!            C x 4 bytes: the places of the children among the nodes
//!            the records
//! a record:  number of lengths as LEB128, 1 byte each, then 1 byte: 0, or 1 and a number of strings as LEB128 and the strings
//!            front-coded, or 2 and the place of a child in 4 bytes
//! ```

mod build;
mod tree;

pub(super) use build::encode;
pub(super) use tree::Tree;

/// Where the nodes start.
const NODES_AT: usize = super::FORM_AT + 8;

/// Bytes of a node before its prefix.
const NODE_HEADER: usize = 20;

/// The most separators in a list: a node for so few takes more bytes, and is hardly searched faster.
const LIST_MOST: usize = 48;

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
