//! Groups pushed keys into *runs*: keys that share a number. Every model is trained on runs, each
//! with the rank of its first key.

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

/// Runs that the last push completed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ended<'n> {
    /// The first of them, of any length.
    pub run: Option<Run>,
    /// The numbers of the others, each a run of one key.
    pub plain: &'n [u64],
    /// The rank of the first number in `plain`.
    pub first_rank: u64,
}

/// Groups keys into runs until one is too long for any model with this boundary.
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

    /// See [`crate::IndexBuilder::trust_order`].
    pub(crate) fn trust_order(&mut self) {
        self.order.trust();
    }

    /// The most ranks that a window may hold.
    pub(crate) fn boundary(&self) -> u64 {
        self.boundary
    }

    /// The error bound, in ranks, that a run of this length leaves within the position boundary;
    /// two ranks are reserved for absent keys, one at either end.
    pub(crate) fn bound_for(&self, keys: u64) -> u64 {
        (self.boundary - 2).saturating_sub(keys - 1) / 2
    }

    /// Adds a key. Returns the run before it if this key starts a new one.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] or [`IndexError::UnsortedNumbers`] if keys or numbers do not
    /// ascend.
    pub(crate) fn push(&mut self, key: &[u8], number: u64) -> Result<Option<Run>, IndexError> {
        if let Some(before) = self.last_number.filter(|last| number < *last) {
            return self.order.descends(key, number, before);
        }
        let rank = self.order.push(key)?;
        Ok(self.count(rank, number))
    }

    /// Adds keys of 8 big-endian bytes whose numbers are these integers. Returns the runs that this
    /// completes.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] or [`IndexError::UnsortedNumbers`] if they do not ascend.
    pub(crate) fn push_numbers<'n>(&mut self, numbers: &'n [u64]) -> Result<Ended<'n>, IndexError> {
        let (Some(&first), Some((&last, mut plain))) = (numbers.first(), numbers.split_last())
        else {
            return Ok(Ended::default());
        };
        if let Some(before) = self.last_number.filter(|last| first < *last) {
            return self.order.descends(&first.to_be_bytes(), first, before);
        }
        let repeats = self.last_number == Some(first);
        let mut first_rank = self.order.push_numbers(numbers)?;
        let mut run = self.count(first_rank, first);
        let last_rank = self.order.keys() - 1;
        self.last_number = Some(last);
        if last_rank >= u64::from(u32::MAX) {
            self.give_up(TOO_MANY);
        }
        if plain.is_empty() || self.is_unfit() {
            return Ok(Ended {
                run,
                ..Ended::default()
            });
        }
        if repeats {
            // The first number extends the pending run, which then ends.
            run = self.pending;
            (plain, first_rank) = (plain.get(1..).unwrap_or_default(), first_rank + 1);
        }
        self.pending = Some(Run {
            number: last,
            first_rank: last_rank,
            keys: 1,
        });
        Ok(Ended {
            run,
            plain,
            first_rank,
        })
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

    /// The rare cases: a key with the number of the key before it, or more keys than ranks can
    /// count.
    #[cold]
    fn repeat(&mut self, rank: u64, number: u64) {
        if rank >= u64::from(u32::MAX) {
            self.give_up(TOO_MANY);
        }
        if self.unfit.is_some() {
            return;
        }
        let Some(run) = self.pending.as_mut().filter(|run| run.number == number) else {
            let why =
                "keys that share a number are in two segments: close segments between numbers";
            return self.give_up(why);
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

    /// Ends and returns the last run.
    pub(crate) fn end(&mut self) -> Option<Run> {
        self.pending.take()
    }

    /// The number of the run that may still grow.
    pub(crate) fn pending_number(&self) -> Option<u64> {
        self.pending.map(|run| run.number)
    }

    /// The last number that was pushed.
    pub(crate) fn last_number(&self) -> Option<u64> {
        self.last_number
    }

    /// Marks the keys as unfit for any model; only the first reason is kept.
    pub(crate) fn give_up(&mut self, why: impl Into<String>) {
        self.unfit.get_or_insert_with(|| why.into());
        self.pending = None;
    }

    /// Whether the keys are unfit for any model.
    pub(crate) fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }

    /// How many keys were pushed so far.
    pub(crate) fn keys(&self) -> u64 {
        self.order.keys()
    }

    /// How many keys were pushed in all.
    ///
    /// # Errors
    /// [`IndexError::Unfit`] if [`Runs::is_unfit`].
    pub(crate) fn finish(self, kind: &'static str) -> Result<u64, IndexError> {
        match self.unfit {
            Some(why) => Err(IndexError::Unfit { kind, why }),
            None => Ok(self.order.keys()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All runs of pushing numbers `at_once` at a time, singly if it is 1. A shorter key with the
    /// first number is pushed before them.
    fn runs_of(numbers: &[u64], at_once: usize) -> (Vec<Run>, Result<u64, IndexError>) {
        let mut runs = Runs::new(16);
        let mut out = Vec::new();
        runs.push(&numbers[0].to_be_bytes()[..7], numbers[0])
            .unwrap();
        for some in numbers.chunks(at_once) {
            let ended = match some {
                [one] => runs.push(&one.to_be_bytes(), *one).map(|run| Ended {
                    run,
                    ..Ended::default()
                }),
                _ => runs.push_numbers(some),
            };
            let ended = match ended {
                Ok(ended) => ended,
                Err(error) => return (out, Err(error)),
            };
            out.extend(ended.run);
            let plain = ended.plain.iter().zip(ended.first_rank..);
            out.extend(plain.map(|(&number, first_rank)| Run {
                number,
                first_rank,
                keys: 1,
            }));
        }
        out.extend(runs.end());
        (out, runs.finish("test"))
    }

    #[test]
    fn bulk_pushes_give_the_same_runs_as_single_pushes() {
        let numbers: Vec<u64> = (0..100).map(|i| (i * i) << 8).collect();
        let one_by_one = runs_of(&numbers, 1);
        assert_eq!((one_by_one.0.len(), one_by_one.1.clone()), (100, Ok(101)));
        assert_eq!(one_by_one.0[0].keys, 2);
        for at_once in [2, 3, 7, 99, 100, 1000] {
            assert_eq!(runs_of(&numbers, at_once), one_by_one);
        }
        for spoilt in 1..20 {
            let mut numbers = numbers.clone();
            numbers[spoilt] = numbers[spoilt - 1];
            let rank = spoilt as u64 + 1;
            for at_once in [1, 2, 5, 100] {
                let error = runs_of(&numbers, at_once).1;
                assert_eq!(error, Err(IndexError::Unsorted { rank }), "{at_once}");
            }
        }
    }

    #[test]
    fn a_run_may_be_three_keys_shorter_than_the_boundary() {
        for boundary in [4, 5, 16, 1024] {
            let fits = |keys: u64| {
                let mut runs = Runs::new(boundary);
                for key in 0..keys {
                    runs.push(&key.to_be_bytes(), 7).unwrap();
                }
                !runs.is_unfit()
            };
            assert!(fits(boundary - 3) && !fits(boundary - 2), "{boundary}");
        }
    }
}
