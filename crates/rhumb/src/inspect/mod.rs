//! Tools around a store that is not open: check every byte, mend what is damaged, show a file.
//!
//! They read files from outside, so they share nothing with an open store but the formats and the
//! lock, and they go on where opening would refuse.

mod directory;
mod dump;
mod repair;
mod report;
mod table;
#[cfg(test)]
mod tests;
mod verify;

pub use dump::dump;
pub use repair::repair;
pub use report::{Loss, RepairReport, VerifyProgress, VerifyReport};
pub use verify::verify;
