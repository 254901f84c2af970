//! Writing tables: flushes write memtables as tables, and compactions merge tables into a run of
//! the same level or a deeper one.
//!
//! [`full_levels`] tells what should be merged, and [`pick_level`] chooses a [`Job`] for a level that can
//! run beside those that hold [`Claims`], [`execute`] executes it, and [`flush`] writes memtables. Both
//! return an [`Outcome`], which the owner of the manifest makes durable and visible; [`place_newest`] tells
//! where the tables of a flush go. [`Order`] sees in which order keys arrive, and [`Parts`] are what a flush
//! makes of it. Tables that come from elsewhere are written by [`write_new_table`], and go where
//! [`newest_places`] says.

mod batch;
mod builder;
mod claims;
mod context;
mod execute;
mod flush;
mod ingest;
mod job;
mod logged;
mod merge;
mod models;
mod order;
mod parts;
pub(crate) mod pick;
mod place;
mod ranges;
mod retain;
mod values;
mod waiting;

pub(crate) use claims::Claims;
pub(crate) use context::{Context, Counters, Outcome};
pub(crate) use execute::{are_in_memory, counts_hidden, execute};
pub(crate) use flush::{Flushed, flush};
pub(crate) use ingest::{NewTable, bottom_for, newest_places, write_new_table};
pub(crate) use job::{Hull, Input, Job};
pub(crate) use logged::LoggedFile;
pub(crate) use models::train_merged;
pub(crate) use order::{Arrivals, Order};
pub(crate) use parts::Parts;
pub(crate) use pick::{
    Collection, Draining, Room, Victims, brings_back, full_levels, most_runs_above,
    pick_collection, pick_conversion, pick_level, pick_stack, pick_step, pick_whole,
};
pub(crate) use place::place_newest;
pub(crate) use ranges::{is_tier, runs_above_tier, tier_of};

#[cfg(test)]
mod tests;
