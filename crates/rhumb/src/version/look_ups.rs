//! What timed gets did in a table.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// Times of gets: their number, and the sum of their logarithms. The mean is that of the logarithms: one get that another
/// process interrupted for milliseconds counts for little among thousands of nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    gets: AtomicU64,
    /// The sum of the logarithms to base 2, in parts of [`Times::PARTS`].
    logarithms: AtomicU64,
}

impl Times {
    const PARTS: f64 = 1024.0;

    /// Notes a get.
    pub fn note(&self, nanos: u64) {
        let logarithm = (nanos.max(1) as f64).log2() * Self::PARTS;
        self.gets.fetch_add(1, Relaxed);
        self.logarithms.fetch_add(logarithm as u64, Relaxed);
    }

    /// The number of gets.
    pub fn gets(&self) -> u64 {
        self.gets.load(Relaxed)
    }

    /// The sum of the logarithms to base 2 of their times in nanoseconds.
    pub fn logarithms(&self) -> f64 {
        self.logarithms.load(Relaxed) as f64 / Self::PARTS
    }

    /// The mean time in nanoseconds, if there were at least so many gets.
    pub fn mean(&self, least: u64) -> Option<f64> {
        let gets = self.gets();
        let mean = self.logarithms() / gets.max(1) as f64;
        (gets >= least).then(|| mean.exp2())
    }

    /// Begins again.
    pub fn clear(&self) {
        self.gets.store(0, Relaxed);
        self.logarithms.store(0, Relaxed);
    }
}

/// What sort of look-up a get was in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LookUp {
    /// Whether the table had the key.
    pub serves: bool,
    /// Whether a learned model was asked, and not the table's own index.
    pub by_model: bool,
    /// Whether a block was read.
    pub has_read: bool,
}

impl LookUp {
    /// The number of sorts.
    pub const SORTS: usize = 8;

    /// The place of the sort among all of them.
    pub fn place(self) -> usize {
        let LookUp {
            serves,
            by_model,
            has_read,
        } = self;
        usize::from(serves) * 4 + usize::from(by_model) * 2 + usize::from(has_read)
    }
}

/// The look-ups of a table that were timed.
#[derive(Debug, Default)]
pub(crate) struct LookUps {
    /// Those that asked the index, by their [places](LookUp::place).
    times: [Times; LookUp::SORTS],
    /// Those that the filter ended, which takes the same time with a model, without one and with one.
    filtered: [AtomicU64; 2],
}

impl LookUps {
    /// Notes a look-up that asked the index.
    pub fn note(&self, look_up: LookUp, nanos: u64) {
        if let Some(times) = self.times.get(look_up.place()) {
            times.note(nanos);
        }
    }

    /// Notes a look-up that the filter ended; `by_model` as in [`LookUp`].
    pub fn note_filtered(&self, by_model: bool) {
        let [without, with] = &self.filtered;
        let filtered = if by_model { with } else { without };
        filtered.fetch_add(1, Relaxed);
    }

    /// The times of each sort, by its [place](LookUp::place).
    pub fn times(&self) -> &[Times; LookUp::SORTS] {
        &self.times
    }

    /// The numbers of those that the filter ended, without a model and with one.
    pub fn filtered(&self) -> [u64; 2] {
        self.filtered.each_ref().map(|count| count.load(Relaxed))
    }
}
