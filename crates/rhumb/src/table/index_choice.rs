//! Builds the wanted index and, beside it, fence pointers to fall back on.
//!
//! Each is given the keys by itself, so that what the wanted one takes to train can be told: the model gets
//! keys as soon as it can use them, the fence pointers when a block is closed.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rhumb_index::registry::{self, Answers};
use rhumb_index::{ClosedSegment, IndexBuilder, IndexError, IndexSpec};

/// What fence pointers are called in the registry.
const FENCE_POINTERS: &str = "fp";
/// A model may take this much more than fence pointers: less than what is fixed in the forms of either
/// says nothing about the keys.
const SLACK_BYTES: usize = 256;

/// The indexes of a table in the making.
#[derive(Debug)]
pub(super) struct IndexChoice {
    spec: IndexSpec,
    /// `None` after it failed.
    wanted: Option<Box<dyn IndexBuilder>>,
    /// `None` if the wanted kind is one of fence pointers.
    fences: Option<Box<dyn IndexBuilder>>,
    fallback: String,
    training: Duration,
    /// How often time was added to it.
    laps: u32,
}

/// The index that was built.
#[derive(Debug)]
pub(super) struct BuiltIndex {
    pub bytes: Vec<u8>,
    pub kind: String,
    /// Why the wanted kind was not built; empty if it was.
    pub fallback: String,
    /// What the wanted kind took to train, also where it was given up then. The fence pointers beside
    /// it do not count.
    pub training: Duration,
}

/// What decides between the wanted kind and fence pointers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stakes {
    /// Blocks of `block_bytes` on average, entries of `entry_bytes`.
    Windows { block_bytes: u64, entry_bytes: u64 },
    /// One block is read either way; the directories beside the indexes take these many bytes.
    Placed {
        directory: usize,
        fence_directory: usize,
    },
}

/// The time that passes between two readings of the clock with nothing between them: the middle of some.
fn clock_cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let mut costs = [Duration::ZERO; 101];
        costs.fill_with(|| Instant::now().elapsed());
        costs.sort_unstable();
        costs[costs.len() / 2]
    })
}

impl IndexChoice {
    /// Begins an index as specified.
    ///
    /// # Errors
    /// If the registry cannot build it.
    pub fn new(spec: &IndexSpec) -> Result<IndexChoice, IndexError> {
        let fences = match spec.kind().answers == Answers::Blocks {
            true => None,
            false => Some(registry::builder(&FENCE_POINTERS.parse()?)?),
        };
        Ok(IndexChoice {
            spec: spec.clone(),
            wanted: Some(registry::builder(spec)?),
            fences,
            fallback: String::new(),
            training: Duration::ZERO,
            laps: 0,
        })
    }

    /// What is being built: as wanted, with the knobs that were chosen.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// Whether keys are to be pushed with their numbers.
    pub fn needs_number(&self) -> bool {
        self.spec.kind().needs_number
    }

    /// Whether the kind may say where entries are to stand: a model that predicts what it does not know
    /// exactly.
    pub fn may_place(&self) -> bool {
        self.needs_number() && !self.spec.is_exact()
    }

    /// Sets the position boundary, if the kind has one and the specification names neither it nor
    /// what keeps none. Only before any key.
    ///
    /// # Errors
    /// If the registry cannot build it.
    pub fn choose_boundary(&mut self, boundary: u64) -> Result<(), IndexError> {
        let knob = "boundary";
        if self.spec.promised_window().is_some() && self.spec.named(knob).is_none() {
            self.spec = self.spec.clone().with(knob, boundary)?;
            self.wanted = Some(registry::builder(&self.spec)?);
        }
        Ok(())
    }

    /// Tells the wanted kind how a block that has entries ended, and how the next one starts.
    pub fn cut(&mut self, last: &[u8], first: &[u8]) {
        if let Some(wanted) = &mut self.wanted {
            wanted.cut(last, first);
        }
    }

    /// What builds the fence pointers to fall back on; `None` if none stand by. They want all cuts and
    /// user keys too, but no numbers.
    pub fn stand_by(&mut self) -> Option<&mut dyn IndexBuilder> {
        match &mut self.fences {
            Some(fences) => Some(&mut **fences),
            None => None,
        }
    }

    /// Gives the wanted kind the next distinct user key.
    ///
    /// # Errors
    /// If keys do not ascend.
    pub fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        match self.wanted.as_mut().map(|wanted| wanted.push(key, number)) {
            Some(Err(error)) if self.fences.is_some() => self.fall_back(error),
            Some(Err(error)) => return Err(error),
            _ => {}
        }
        Ok(())
    }

    /// Whether the wanted kind is still being built.
    pub fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Counts the time since then as training.
    pub fn trained_since(&mut self, started: Instant) {
        self.training += started.elapsed();
        self.laps = self.laps.saturating_add(1);
    }

    /// What training took, without the reading of the clock: where each key has a block of its own that
    /// would be most of it.
    fn trained(&self) -> Duration {
        self.training.saturating_sub(clock_cost() * self.laps)
    }

    /// Closes the model's open segment: the next key must have another number than the last.
    pub fn close_segment(&mut self) {
        if let Some(wanted) = &mut self.wanted {
            wanted.close_segment();
        }
    }

    /// Moves the segments closed since the last call into `closed`.
    pub fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        if let Some(wanted) = &mut self.wanted {
            wanted.take_closed(closed);
        }
    }

    /// What the model will predict for a number in a closed segment.
    pub fn predict(&self, number: u64) -> Option<u64> {
        self.wanted.as_ref()?.predict_closed(number)
    }

    /// Whether the wanted kind can still be built. If not, it was given up, and it is said why.
    pub fn is_fit(&mut self) -> bool {
        if self.wanted.as_ref().is_some_and(|wanted| wanted.is_unfit()) {
            let why = match self.wanted.take().map(|wanted| wanted.finish()) {
                Some(Err(error)) => error.to_string(),
                _ => format!("{} does not fit the keys", self.spec.kind().name),
            };
            self.fall_back(why);
        }
        self.wanted.is_some()
    }

    /// Gives the wanted kind up, if there are fence pointers.
    pub fn fall_back(&mut self, why: impl ToString) {
        if self.fences.is_some() {
            self.wanted = None;
            self.fallback = why.to_string();
        }
    }

    /// Ends the table.
    ///
    /// Fence pointers are taken if the wanted kind cannot keep its promise for these keys, or if it
    /// takes more memory and saves no reads. A kind that is exact was wanted for what it keeps in memory,
    /// and reads the keys with the number alone: it stays.
    ///
    /// # Errors
    /// If not even fence pointers can be built.
    pub fn finish(&mut self, stakes: Stakes) -> Result<BuiltIndex, IndexError> {
        let fences = self.fences.take().map(|f| f.finish()).transpose()?;
        let started = Instant::now();
        let wanted = self.wanted.take().map(|w| w.finish()).transpose();
        self.trained_since(started);
        let (wanted, why) = match (wanted, &fences) {
            (Err(error), Some(_)) => (None, Some(error.to_string())),
            (Ok(Some(wanted)), Some(fences)) if !self.spec.is_exact() => {
                match self.why_not(&wanted, fences.len(), stakes)? {
                    None => (Some(wanted), None),
                    why => (None, why),
                }
            }
            (wanted, _) => (wanted?, None),
        };
        let kind = match wanted {
            Some(_) => self.spec.kind().name,
            None => FENCE_POINTERS,
        };
        Ok(BuiltIndex {
            bytes: wanted.or(fences).unwrap_or_default(),
            kind: kind.to_string(),
            fallback: why.unwrap_or_else(|| std::mem::take(&mut self.fallback)),
            training: self.trained(),
        })
    }

    /// Why fence pointers are better than what was wanted, if they are.
    fn why_not(
        &self,
        wanted: &[u8],
        fence_bytes: usize,
        stakes: Stakes,
    ) -> Result<Option<String>, IndexError> {
        let (kind, bytes) = (self.spec.kind().name, wanted.len());
        match stakes {
            Stakes::Placed {
                directory,
                fence_directory,
            } => {
                let (own, fences) = (bytes + directory, fence_bytes + fence_directory);
                Ok((own > fences + SLACK_BYTES).then(|| {
                    format!(
                        "{kind} takes {bytes} bytes and a directory of {directory}, fence pointers \
                         {fence_bytes} and {fence_directory}"
                    )
                }))
            }
            Stakes::Windows {
                block_bytes,
                entry_bytes,
            } => {
                if bytes <= fence_bytes {
                    return Ok(None);
                }
                let window = registry::open(wanted)?.widest_window();
                let wide = window.saturating_mul(entry_bytes) > block_bytes;
                Ok(wide.then(|| {
                    format!(
                        "{kind} takes {bytes} bytes, fence pointers {fence_bytes}, and its windows \
                         of {window} keys span more than a block"
                    )
                }))
            }
        }
    }
}
