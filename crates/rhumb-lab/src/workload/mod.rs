//! Workloads: operations on chosen records, at a chosen pace, against any store. Every answer is
//! checked.
//!
//! They follow B. F. Cooper, A. Silberstein, E. Tam, R. Ramakrishnan, R. Sears, "Benchmarking Cloud
//! Serving Systems with YCSB" (SoCC 2010), and the core workloads of its program.

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
