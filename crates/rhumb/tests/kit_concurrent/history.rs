//! What was begun, acknowledged and made durable, and in which order it must be.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kit::recorder::held;

/// The number of threads that write batches.
pub const WRITERS: usize = 4;
/// The number of the thread that creates and drops keyspaces.
pub const KEEPER: usize = WRITERS;
/// The number of threads that write.
pub const ACTORS: usize = WRITERS + 1;

/// For each actor a number of operations: its first ones.
pub type Clock = [usize; ACTORS];

/// The history of one run.
#[derive(Debug, Default)]
pub struct History {
    /// For each operation, those that come before it in the commit order, with itself.
    begun: [Mutex<Vec<Clock>>; ACTORS],
    acknowledged: [AtomicUsize; ACTORS],
    durable: Mutex<Clock>,
}

impl History {
    /// Notes that an actor begins its next operation, and has seen others. Returns its number, from 1.
    pub fn begin(&self, actor: usize, seen: Clock) -> usize {
        let mut clock = latest(seen, self.acknowledged());
        let mut begun = held(&self.begun[actor]);
        clock[actor] = begun.len() + 1;
        begun.push(clock);
        clock[actor]
    }

    /// Notes that an actor's last operation returned.
    pub fn acknowledge(&self, actor: usize, durable: bool) {
        let clock = *held(&self.begun[actor]).last().unwrap();
        if durable {
            self.make_durable(clock);
        }
        self.acknowledged[actor].store(clock[actor], Ordering::SeqCst);
    }

    /// How many operations of each actor have returned.
    pub fn acknowledged(&self) -> Clock {
        self.acknowledged
            .each_ref()
            .map(|n| n.load(Ordering::SeqCst))
    }

    /// How many operations of each actor may have left something.
    pub fn begun(&self) -> Clock {
        self.begun.each_ref().map(|begun| held(begun).len())
    }

    /// Notes that these operations survive a loss of power from now on.
    pub fn make_durable(&self, clock: Clock) {
        let mut durable = held(&self.durable);
        *durable = latest(*durable, clock);
    }

    /// How many operations of each actor survive a loss of power.
    pub fn durable(&self) -> Clock {
        *held(&self.durable)
    }

    /// Checks that the first operations of all actors are a prefix of a commit order.
    pub fn check_prefix(&self, found: Clock) -> Result<(), String> {
        self.check_first(found, ACTORS)
    }

    /// As [`History::check_prefix`], for the writers alone.
    pub fn check_writers(&self, found: Clock) -> Result<(), String> {
        self.check_first(found, WRITERS)
    }

    fn check_first(&self, found: Clock, actors: usize) -> Result<(), String> {
        for (actor, count) in found.into_iter().enumerate().take(actors) {
            let Some(last) = count.checked_sub(1) else {
                continue;
            };
            let before = held(&self.begun[actor]).get(last).copied();
            let before = before.ok_or_else(|| format!("actor {actor} never began {count}"))?;
            if !within(before, found) {
                return Err(format!(
                    "found {found:?}: operation {count} of actor {actor} without those before it, \
                     {before:?}"
                ));
            }
        }
        Ok(())
    }
}

/// For each actor the larger number.
pub fn latest(a: Clock, b: Clock) -> Clock {
    std::array::from_fn(|actor| a[actor].max(b[actor]))
}

/// Whether no actor has more operations in `a` than in `b`.
pub fn within(a: Clock, b: Clock) -> bool {
    a.iter().zip(&b).all(|(a, b)| a <= b)
}
