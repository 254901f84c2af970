//! Turns pushed keys into *runs*: keys that share a number. Every model trains on runs, with the
//! rank of a run's first key.

use super::order::Order;
use crate::IndexError;

const TOO_MANY: &str = "more than 2^32 - 1 keys: write smaller tables";

/// Keys that share a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub number: u64,
    pub first_rank: u64,
    pub keys: u64,
}

/// Counts keys into runs, up to the first that no model with this boundary can serve.
#[derive(Debug)]
pub(crate) struct Runs {
    boundary: u64,
    order: Order,
    last_number: Option<u64>,
    /// The run that may still grow.
    pending: Option<Run>,
    unfit: Option<String>,
}

impl Runs {
    /// For windows of at most `boundary` ranks.
    pub(crate) fn new(boundary: u64) -> Self {
        Runs {
            boundary,
            order: Order::default(),
            last_number: None,
            pending: None,
            unfit: None,
        }
    }

    /// The error bound, in ranks, that a run of this length leaves within the position boundary; a
    /// rank at either end is for absent keys.
    pub(crate) fn bound_for(&self, keys: u64) -> u64 {
        (self.boundary - 2).saturating_sub(keys - 1) / 2
    }

    /// Adds a key. Gives the run before it, if that ended now.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if keys or numbers do not ascend.
    pub(crate) fn push(&mut self, key: &[u8], number: u64) -> Result<Option<Run>, IndexError> {
        if self.last_number.is_some_and(|last| number < last) {
            let rank = self.order.keys();
            return Err(IndexError::Unsorted { rank });
        }
        let rank = self.order.push(key)?;
        Ok(self.count(rank, number))
    }

    /// The same for a key of 8 big-endian bytes that stands for itself.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the key before.
    #[inline]
    pub(crate) fn push_number(&mut self, number: u64) -> Result<Option<Run>, IndexError> {
        if self.last_number.is_some_and(|last| number < last) {
            let rank = self.order.keys();
            return Err(IndexError::Unsorted { rank });
        }
        let rank = self.order.push_number(number)?;
        Ok(self.count(rank, number))
    }

    /// The same for many keys at once. Gives the run before them, if it ended now, and the rank of the
    /// first of them: all but the last, which may still grow, are runs of one key.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if they do not ascend.
    pub(crate) fn push_numbers(
        &mut self,
        numbers: &[u64],
    ) -> Result<(Option<Run>, u64), IndexError> {
        let first_rank = self.order.keys();
        let [first, .., last] = numbers else {
            let mut ended = None;
            for &number in numbers {
                ended = self.push_number(number)?;
            }
            return Ok((ended, first_rank));
        };
        if !numbers.is_sorted_by(|a, b| a < b) {
            let sorted = numbers.windows(2).take_while(|pair| pair[0] < pair[1]);
            let rank = first_rank + sorted.count() as u64 + 1;
            return Err(IndexError::Unsorted { rank });
        }
        let ended = self.push_number(*first)?;
        self.order.skip_to(*last, numbers.len() as u64 - 1);
        self.last_number = Some(*last);
        if self.order.keys() > u64::from(u32::MAX) {
            self.give_up(TOO_MANY);
        } else if !self.is_unfit() {
            self.pending = Some(Run {
                number: *last,
                first_rank: self.order.keys() - 1,
                keys: 1,
            });
        }
        Ok((ended, first_rank))
    }

    #[inline]
    fn count(&mut self, rank: u64, number: u64) -> Option<Run> {
        let repeats = self.last_number.replace(number) == Some(number);
        if self.unfit.is_some() || rank >= u64::from(u32::MAX) || repeats {
            self.repeat(rank, number);
            return None;
        }
        self.pending.replace(Run {
            number,
            first_rank: rank,
            keys: 1,
        })
    }

    /// What is rare: a key with the number of the one before, or one too many.
    #[cold]
    fn repeat(&mut self, rank: u64, number: u64) {
        if rank >= u64::from(u32::MAX) {
            self.give_up(TOO_MANY);
        }
        if self.unfit.is_some() {
            return;
        }
        let Some(run) = self.pending.as_mut().filter(|run| run.number == number) else {
            return self.give_up("a number went on after its segment was closed");
        };
        run.keys += 1;
        let keys = run.keys;
        if self.bound_for(keys) == 0 {
            self.give_up(format!(
                "{keys} keys share a number, too many for a position boundary of {}: raise it or \
                 use fp",
                self.boundary
            ));
        }
    }

    /// The last run, which is not to grow any more.
    pub(crate) fn end(&mut self) -> Option<Run> {
        self.pending.take()
    }

    /// The number of the run that may still grow.
    pub(crate) fn pending_number(&self) -> Option<u64> {
        self.pending.map(|run| run.number)
    }

    /// No model will do, for this reason; the first one counts.
    pub(crate) fn give_up(&mut self, why: impl Into<String>) {
        self.unfit.get_or_insert_with(|| why.into());
        self.pending = None;
    }

    /// Whether no model will do.
    pub(crate) fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }

    /// How many keys there were, once they have ended.
    ///
    /// # Errors
    /// [`IndexError::Unfit`] if no model will do.
    pub(crate) fn finish(self, kind: &'static str) -> Result<u64, IndexError> {
        match self.unfit {
            Some(why) => Err(IndexError::Unfit { kind, why }),
            None => Ok(self.order.keys()),
        }
    }
}
