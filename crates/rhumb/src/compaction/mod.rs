//! Writing tables: flushes write memtables as tables, and compactions merge tables into a run of
//! the same level or a deeper one.
//!
//! [`pick`](fn@pick) chooses a [`Job`] that can run beside those that hold [`Claims`], [`run`]
//! executes it, and [`flush`] writes memtables. Both return an [`Outcome`], which the owner of the
//! manifest makes durable and visible.

mod builder;
mod claims;
mod context;
mod flush;
mod job;
mod merge;
pub(crate) mod pick;
mod retain;
mod run;

pub(crate) use claims::Claims;
pub(crate) use context::{Context, Counters, Outcome};
pub(crate) use flush::flush;
pub(crate) use job::{Input, Job};
pub(crate) use pick::{pick, pick_step, pick_whole};
pub(crate) use run::run;

#[cfg(test)]
mod tests;
