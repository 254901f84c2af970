//! Builds the wanted index and, as a fallback, fence pointers.
//!
//! The two receive the keys separately, so that the training time of the wanted index can be
//! measured: a model receives keys as soon as it can use them, the fence pointers a cut when a block is
//! closed.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rhumb_index::registry::{self, Answers};
use rhumb_index::{ClosedSegment, IndexBuilder, IndexError, IndexSpec};

/// The name of fence pointers in the registry.
const FENCE_POINTERS: &str = "fp";
/// A model may take this many bytes more than fence pointers: differences below the fixed parts of
/// the two forms say nothing about the keys.
const SLACK_BYTES: usize = 256;

/// The indexes of a table being written.
#[derive(Debug)]
pub(in crate::table) struct IndexChoice {
    spec: IndexSpec,
    /// `None` after it was given up.
    wanted: Option<Box<dyn IndexBuilder>>,
    /// `None` if the wanted kind is itself one of fence pointers.
    fences: Option<Box<dyn IndexBuilder>>,
    fallback: String,
    training: Duration,
    /// The number of times that time was added to `training`.
    laps: u32,
}

/// The index that was built.
#[derive(Debug)]
pub(in crate::table) struct BuiltIndex {
    pub bytes: Vec<u8>,
    pub kind: String,
    /// Whether it is searched by numbers.
    pub needs_number: bool,
    /// Whether it answers with blocks, and asks the directory for no ranks.
    pub finds_blocks: bool,
    /// Why the wanted kind was not built; empty if it was.
    pub fallback: String,
    /// The training time of the wanted kind, even if it was given up later; without that of the
    /// fence pointers.
    pub training: Duration,
}

/// The costs that decide between the wanted kind and fence pointers.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) enum Stakes {
    /// The layout is for comparisons of indexes, or for this kind alone, or the kind follows the cuts: it is kept if it can be
    /// built.
    Wanted,
    /// A window may span several blocks. The average bytes of a block and of an entry.
    Windows { block_bytes: u64, entry_bytes: u64 },
    /// Either index leads to one block. The bytes of the two directories that go with them.
    Placed {
        directory: usize,
        fence_directory: usize,
    },
}

/// The time between two successive readings of the clock; the median of many.
fn clock_cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let mut costs = [Duration::ZERO; 101];
        costs.fill_with(|| Instant::now().elapsed());
        costs.sort_unstable();
        costs[costs.len() / 2]
    })
}

/// A builder of an index; the writer of tables checks the order of keys.
fn builder_of(spec: &IndexSpec) -> Result<Box<dyn IndexBuilder>, IndexError> {
    let mut builder = registry::builder(spec)?;
    builder.trust_order();
    Ok(builder)
}

impl IndexChoice {
    /// Starts an index as specified.
    ///
    /// # Errors
    /// If the registry cannot create its builder.
    pub fn new(spec: &IndexSpec) -> Result<IndexChoice, IndexError> {
        let fences = match spec.answers() == Answers::Blocks {
            true => None,
            false => Some(builder_of(&FENCE_POINTERS.parse()?)?),
        };
        Ok(IndexChoice {
            spec: spec.clone(),
            wanted: Some(builder_of(spec)?),
            fences,
            fallback: String::new(),
            training: Duration::ZERO,
            laps: 0,
        })
    }

    /// The specification: as wanted, with the knobs that were chosen.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// Whether keys must be pushed with their numbers.
    pub fn needs_number(&self) -> bool {
        self.spec.kind().needs_number
    }

    /// Whether the kind may place entries: it is a model of ranks whose predictions are not exact.
    pub fn may_place(&self) -> bool {
        self.needs_number() && !self.spec.is_exact() && !self.gives_slots()
    }

    /// Whether the kind models blocks.
    pub fn gives_slots(&self) -> bool {
        self.spec.answers() == Answers::Slots
    }

    /// Whether the wanted kind answers with blocks; fence pointers with a position boundary answer with ranks.
    fn finds_blocks(&self) -> bool {
        let gives_blocks = matches!(self.spec.answers(), Answers::Blocks | Answers::Slots);
        gives_blocks && self.spec.promised_window().is_none()
    }

    /// Whether the wanted kind uses cuts.
    pub fn is_cut(&self) -> bool {
        self.spec.uses_cuts()
    }

    /// How many of the next distinct user keys, with these numbers, the next block may hold.
    pub fn admits(&mut self, numbers: &[u64]) -> usize {
        let started = Instant::now();
        let admitted = match &self.wanted {
            Some(wanted) => wanted.admits(numbers),
            None => numbers.len(),
        };
        self.trained_since(started);
        admitted
    }

    /// Appends the slot in which each key of the block will be expected whose keys were pushed last.
    pub fn expected_slots(&mut self, slots: &mut Vec<u64>) {
        if let Some(wanted) = &mut self.wanted {
            wanted.expected_slots(slots);
        }
    }

    /// Sets the position boundary, if the kind promises one and the specification does not name it.
    /// Call it before the first key.
    ///
    /// # Errors
    /// If the registry cannot create the builder.
    pub fn choose_boundary(&mut self, boundary: u64) -> Result<(), IndexError> {
        let knob = "boundary";
        if self.spec.promised_window().is_some() && self.spec.named(knob).is_none() {
            self.spec = self.spec.clone().with(knob, boundary)?;
            self.wanted = Some(builder_of(&self.spec)?);
        }
        Ok(())
    }

    /// Passes a cut to the wanted kind: the last key of a block with entries, and the first key of
    /// the next.
    pub fn cut(&mut self, last: &[u8], first: &[u8]) {
        if let Some(wanted) = &mut self.wanted {
            wanted.cut(last, first);
        }
    }

    /// The builder of the fence pointers kept as a fallback, if there is one. It needs all cuts, but no
    /// keys: there is a fence for each block.
    pub fn fences(&mut self) -> Option<&mut dyn IndexBuilder> {
        match &mut self.fences {
            Some(fences) => Some(&mut **fences),
            None => None,
        }
    }

    /// Passes the next distinct user key to the wanted kind.
    ///
    /// # Errors
    /// If keys do not ascend.
    pub fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        self.train(|wanted| wanted.push(key, number))
    }

    /// Tells the wanted kind of so many next distinct user keys, if it need not know them. Returns whether it need not.
    pub fn push_unseen(&mut self, keys: u64) -> bool {
        let wanted = self.wanted.as_mut();
        wanted.is_none_or(|wanted| wanted.push_unseen(keys))
    }

    /// Passes the numbers of the next distinct user keys, of which several may be equal, to the wanted
    /// kind, which must be searched by numbers.
    ///
    /// # Errors
    /// If numbers do not ascend.
    pub fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        for distinct in numbers.chunk_by(|a, b| a < b) {
            self.train(|wanted| wanted.push_numbers(distinct))?;
        }
        Ok(())
    }

    /// Trains the wanted kind; if that fails, fence pointers take its place where there are any.
    #[inline]
    fn train(
        &mut self,
        push: impl FnOnce(&mut Box<dyn IndexBuilder>) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        match self.wanted.as_mut().map(push) {
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

    /// Adds the time since `started` to the training time.
    pub fn trained_since(&mut self, started: Instant) {
        self.training += started.elapsed();
        self.laps = self.laps.saturating_add(1);
    }

    /// The training time without the cost of reading the clock, which would dominate if each key
    /// has a block of its own.
    fn trained(&self) -> Duration {
        self.training.saturating_sub(clock_cost() * self.laps)
    }

    /// Whether the model has one segment only, which the end of the table closes.
    pub fn closes_once(&self) -> bool {
        (self.wanted.as_ref()).is_some_and(|wanted| wanted.closes_once())
    }

    /// Closes the model's open segment. The next key must have a different number than the last; of a model that closes
    /// once there may be none.
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

    /// Appends the model's predictions for ascending numbers, up to the first that is not in a closed
    /// segment.
    pub fn predict(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        if let Some(wanted) = &self.wanted {
            wanted.predict_closed(numbers, predicted);
        }
    }

    /// Whether the wanted kind can still be built. If not, gives it up and records the reason.
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

    /// Gives up the wanted kind, if there are fence pointers to fall back on.
    pub fn fall_back(&mut self, why: impl ToString) {
        if self.fences.is_some() {
            self.wanted = None;
            self.fallback = why.to_string();
        }
    }

    /// Completes the index.
    ///
    /// Fence pointers are taken if the wanted kind cannot keep its promise for these keys, or, but for
    /// [`Stakes::Wanted`], if it takes more memory and saves no reads. An exact kind is kept: it is chosen for
    /// what it holds in memory, and reads only keys with the wanted number.
    ///
    /// # Errors
    /// If even the fence pointers cannot be built.
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
            needs_number: wanted.is_some() && self.needs_number(),
            finds_blocks: wanted.is_none() || self.finds_blocks(),
            bytes: wanted.or(fences).unwrap_or_default(),
            kind: kind.to_string(),
            fallback: why.unwrap_or_else(|| std::mem::take(&mut self.fallback)),
            training: self.trained(),
        })
    }

    /// The reason to prefer fence pointers over the wanted kind, if there is one.
    fn why_not(
        &self,
        wanted: &[u8],
        fence_bytes: usize,
        stakes: Stakes,
    ) -> Result<Option<String>, IndexError> {
        let (kind, bytes) = (self.spec.kind().name, wanted.len());
        match stakes {
            Stakes::Wanted => Ok(None),
            Stakes::Placed {
                directory,
                fence_directory,
            } => {
                let (own, fences) = (bytes + directory, fence_bytes + fence_directory);
                Ok((own > fences + SLACK_BYTES).then(|| {
                    format!(
                        "{kind} takes {bytes} bytes and a directory of {directory}; fence pointers take \
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
