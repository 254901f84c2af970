//! Data sets: keys and values.

mod arrivals;
pub mod cdf;
pub mod clustered;
pub mod decimal;
mod disorder;
pub mod git;
mod input;
pub mod lookalikes;
pub mod numbers;
pub mod paths;
mod prefixes;
mod random;
pub mod sequence;
pub mod sets;
pub mod sizes;
pub mod sosd;
mod strings;
pub mod texts;
pub mod uniform;
mod ycsb;
mod zipf_law;

pub use arrivals::{Arrivals, runs};
pub use disorder::{Disorder, Part, Sortedness};
pub use input::Input;
pub use prefixes::Prefixes;
pub use random::Random;
pub use sizes::Sizes;
pub use strings::{Pairs, Strings};
