//! Workloads: which operations, on which records, at which pace, against any store; every answer is
//! checked.
//!
//! B. F. Cooper, A. Silberstein, E. Tam, R. Ramakrishnan, R. Sears, "Benchmarking Cloud Serving
//! Systems with YCSB" (SoCC 2010), and its core workloads as the program defines them.

mod check;
pub mod chooser;
mod client;
pub mod distribution;
pub mod drive;
pub mod load;
pub mod mix;
pub mod order;
pub mod outcome;
pub mod population;
mod record;
#[cfg(test)]
mod tests;
pub mod zipfian;
