//! How tables come to be: flushes write memtables as tables, compactions merge tables into the
//! level below.
//!
//! [`pick`](fn@pick) chooses a [`Job`], [`run`] does it, [`flush`] writes memtables; both give an
//! [`Outcome`], which the owner of the manifest makes durable and visible.

mod builder;
mod context;
mod flush;
mod merge;
pub(crate) mod pick;
mod retain;
mod run;
mod source;

pub(crate) use context::{Context, Counters, Outcome};
pub(crate) use flush::flush;
pub(crate) use pick::{Job, pick, pick_range};
pub(crate) use run::run;
pub(crate) use source::Source;

#[cfg(test)]
mod tests;
