//! What a tuner tells of itself.

use std::time::Duration;

#[cfg(doc)]
use crate::Tuner;

/// What a tuner knows and does.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TunerStats {
    /// Whether the store has one now. If not, this is what one knew when it was open the last time.
    pub is_on: bool,
    /// The forms that it chooses from, index and cut; first what is set. Empty until the first merge.
    pub forms: Vec<FormStats>,
    /// The place of the form that new tables take.
    pub present: usize,
    /// Whether they are being measured now: by a background thread, or by who asked for a merge.
    pub is_measuring: bool,
    /// How often it was tried to measure forms.
    pub measured: u64,
    /// Why they could not be measured the last time, or why what was remembered cannot be read or written. What was known
    /// before is still used.
    pub failure: Option<String>,
    /// The episodes of [`Tuner::QLearning`].
    pub episodes: u64,
    /// How many nanoseconds longer than in samples reads took in tables, which is the device's part; if enough were timed.
    pub device: Option<f64>,
    /// What [`Tuner::Bourbon`] learned; `None` for others.
    pub models: Option<ModelStats>,
}

/// What [`Tuner::Bourbon`] learned, in the order in which a table goes through it. All but the last four figures
/// tell of the tables that there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelStats {
    /// Tables that are younger than they have to be, or whose turn has not come.
    pub waiting: u64,
    /// Tables that would cost more to learn than models have saved in others of their level.
    pub not_worth: u64,
    /// Tables whose own index is a model, or covers several tables.
    pub modelled: u64,
    /// Tables whose keys fit no model, since too many share a number. Behind three of them in a row, the others that number their
    /// keys likewise are not tried, and count too.
    pub unfit: u64,
    /// Tables that could not be learned, since they could not be read or are damaged.
    pub failed: u64,
    /// Tables that have a learned model,
    pub tables: u64,
    /// and the number of these models, each of which covers one table or several.
    pub models: u64,
    /// The memory of the learned models in bytes, which [`KeyspaceStats::index_bytes`](crate::KeyspaceStats::index_bytes)
    /// counts too.
    pub bytes: u64,
    /// How many tables were learned since the store was opened,
    pub learned: u64,
    /// and in what time, with what was given up.
    pub learning_time: Duration,
    /// How often learning was given up, since the table, or the run that was learned as a whole, changed meanwhile.
    pub given_up: u64,
    /// How many look-ups of gets in tables were answered by learned models, estimated from one get in 64.
    pub look_ups: u64,
}

/// What a tuner knows of one form of tables. Times are nanoseconds, in a sample of a table.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FormStats {
    /// Index and cut, such as `plr predicted(14)`.
    pub form: String,
    /// A get whose block is in the cache.
    pub cached_get: f64,
    /// A get that reads its block: from the page cache, where tables are read through it.
    pub uncached_get: f64,
    /// A scan of 100 entries in the cache.
    pub cached_scan: f64,
    /// A scan of 100 entries that reads.
    pub uncached_scan: f64,
    /// The bytes of index and directory an entry.
    pub memory: f64,
    /// How many times as long cached gets took in its tables, if enough were timed.
    pub ratio: Option<f64>,
    /// The tables that were begun in this form since it was measured.
    pub tables: u64,
    /// What the agent of [`Tuner::QLearning`] learned of this form: the largest value of an action in its state.
    pub value: Option<f64>,
    /// What it learned of each action there, by name: a value, 0 before the action was tried; none where it may not be taken.
    pub actions: Vec<(&'static str, Option<f64>)>,
}
