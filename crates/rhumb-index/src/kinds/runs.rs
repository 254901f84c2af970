//! Turns pushed keys into *runs*: keys that share a number. Every model trains on runs, with the
//! rank of a run's first key.

use super::order::Order;
use crate::IndexError;

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

    /// The same for many keys at once; `each` gets every run that ended.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if they do not ascend; `each` may have got some by then.
    #[inline]
    pub(crate) fn extend(
        &mut self,
        numbers: &[u64],
        mut each: impl FnMut(&mut Self, Run),
    ) -> Result<(), IndexError> {
        let Some((&first, rest)) = numbers.split_first() else {
            return Ok(());
        };
        if let Some(run) = self.push_number(first)? {
            each(self, run);
        }
        let mut rest = rest.iter();
        // While the last number is a run of its own, nothing can go wrong but the order.
        while let (Some(run), Some(&number)) = (self.pending, rest.as_slice().first()) {
            let first_rank = self.order.keys();
            if number <= run.number || run.keys != 1 || first_rank >= u64::from(u32::MAX) {
                break;
            }
            rest.next();
            self.order.push_above(number);
            (self.last_number, self.pending) = (
                Some(number),
                Some(Run {
                    number,
                    first_rank,
                    keys: 1,
                }),
            );
            each(self, run);
        }
        for &number in rest {
            if let Some(run) = self.push_number(number)? {
                each(self, run);
            }
        }
        Ok(())
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
            self.give_up("more than 2^32 - 1 keys: write smaller tables");
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
