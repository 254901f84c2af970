//! Tools for a store that is not open: check every byte, repair what is damaged, show a file.
//!
//! They share only the file formats and the lock with an open store, and continue where opening the
//! store would fail.

mod directory;
mod dump;
mod repair;
mod report;
mod table_check;
#[cfg(test)]
mod tests;
mod verify;

pub use dump::dump;
pub use repair::repair;
pub use report::{Doubt, LostData, RepairReport, Sequences, VerifyProgress, VerifyReport};
pub use verify::verify;
