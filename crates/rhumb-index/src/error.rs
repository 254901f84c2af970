//! The errors of this crate.

/// An error of the index library. Each message names its operands and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// An index, key map or specification whose bytes or text are not valid.
    #[error("damaged {what} at byte {offset}: expected {expected}, found {found}")]
    Damaged {
        /// The structure that was being read.
        what: &'static str,
        /// The offset in its byte form.
        offset: usize,
        /// The content of a valid structure.
        expected: String,
        /// The actual content.
        found: String,
    },
    /// A byte form written by a later version.
    #[error("{what} has version {found}, this build reads up to {known}: use a newer rhumb")]
    Version {
        /// The structure that was being read.
        what: &'static str,
        /// The version of the byte form.
        found: u32,
        /// The newest version this build reads.
        known: u32,
    },
    /// An index of an unknown kind, which a later version may have written.
    #[error("index kind {found} is not among {known} that this build reads: use a newer rhumb")]
    Kind {
        /// The id of the kind.
        found: u8,
        /// The kinds that this build reads, with their names.
        known: String,
    },
    /// Keys that do not ascend.
    #[error(
        "key {rank} is not above the key before it: indexes are built from sorted distinct keys \
         (SortedSet and SortedMap accept equal ones too)"
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
    /// A set or map opened with other types.
    #[error("the bytes hold {found}, not {expected}: open them with the types they were made with")]
    Types {
        /// The requested types.
        expected: String,
        /// The types of the bytes.
        found: String,
    },
    /// Numbers that descend while their keys ascend.
    #[error(
        "key {rank} has the number {number}, below {before}, the number of the key before it: \
         number all keys of a table with one key map"
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
        "block {block} starts below the end of the block before it: call `cut` once for each \
         block, in order"
    )]
    UnsortedBlocks {
        /// The offending block, counted from 0.
        block: u64,
    },
    /// An invalid specification text.
    #[error("{0}")]
    Spec(String),
    /// The builder cannot keep its guarantee for these keys; use fence pointers instead.
    #[error("{kind} cannot serve these keys: {why}")]
    Unfit {
        /// The requested kind.
        kind: &'static str,
        /// Why it cannot serve the keys.
        why: String,
    },
}
