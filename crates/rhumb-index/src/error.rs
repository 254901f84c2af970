//! What can go wrong in this crate.

/// An error of the index library. Each message names its operands and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// An index, key map or specification in byte or text form that cannot be what it claims.
    #[error("damaged {what} at byte {offset}: expected {expected}, found {found}")]
    Damaged {
        /// Which structure was being read.
        what: &'static str,
        /// Where in its byte form.
        offset: usize,
        /// What stands there in a sound structure.
        expected: String,
        /// What stands there now.
        found: String,
    },
    /// A byte form written by a later version.
    #[error("{what} has version {found}, this build reads up to {known}: use a newer rhumb")]
    Version {
        /// Which structure was being read.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The newest version this build reads.
        known: u32,
    },
    /// An index of a kind that a later version wrote.
    #[error("index kind {found} is not among {known} that this build reads: use a newer rhumb")]
    Kind {
        /// The kind found.
        found: u8,
        /// The kinds that this build reads, with their names.
        known: String,
    },
    /// Keys that do not ascend.
    #[error(
        "key {rank} is not above the key before it: indexes are built from sorted distinct keys \
         (SortedSet and SortedMap take equal ones too)"
    )]
    Unsorted {
        /// Rank of the offending key.
        rank: u64,
    },
    /// Entries of a sorted set or map that do not ascend.
    #[error("entry {position} is below the one before it: sort the entries by their keys first")]
    UnsortedEntries {
        /// The offending entry, counted from 0.
        position: u64,
    },
    /// A set or map of other types.
    #[error("the bytes hold {found}, not {expected}: open them with the types they were made with")]
    Types {
        /// What was to be opened.
        expected: String,
        /// What the bytes are.
        found: String,
    },
    /// Numbers that descend while their keys ascend.
    #[error(
        "key {rank} has the number {number}, below {before}, which the key before it has: number \
         all keys of a table by one key map"
    )]
    UnsortedNumbers {
        /// Rank of the offending key.
        rank: u64,
        /// Its number.
        number: u64,
        /// The number of the key before it.
        before: u64,
    },
    /// Blocks whose keys overlap.
    #[error(
        "block {block} starts below the end of the block before it: tell the cuts of a table once \
         each, in order"
    )]
    UnsortedBlocks {
        /// The offending block, counted from 0.
        block: u64,
    },
    /// A specification text that names nothing we know.
    #[error("{0}")]
    Spec(String),
    /// The builder cannot keep its promise for these keys; use fence pointers instead.
    #[error("{kind} cannot serve these keys: {why}")]
    Unfit {
        /// The kind that was asked for.
        kind: &'static str,
        /// Why it does not fit.
        why: String,
    },
}
