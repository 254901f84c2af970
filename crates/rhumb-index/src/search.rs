//! The last mile: from the window that an index returns to the rank of a key.
//!
//! ```
//! use rhumb_index::{IndexSpec, Position, Probe, registry, search};
//!
//! let numbers: Vec<u64> = (0..10_000).map(|i| i * i / 7 + i).collect();
//!
//! let spec: IndexSpec = "plr:boundary=16".parse()?;
//! let mut builder = registry::builder(&spec)?;
//! builder.push_numbers(&numbers)?;
//! let index = registry::open(builder.finish()?)?;
//!
//! let number = numbers[1234];
//! let position = index.locate(Probe { key: &number.to_be_bytes(), number });
//! let Position::Window(window) = position else { unreachable!("plr answers with ranks") };
//! assert_eq!(search::lower_bound_u64(&numbers, window, number), 1234);
//! # Ok::<(), rhumb_index::IndexError>(())
//! ```
//!
//! [`lower_bound_u64`] searches integers and [`lower_bound_bytes`] byte strings. Their parts serve
//! keys that are stored differently, as in the blocks of the `rhumb` store: [`first_not`] searches
//! any range of indices, [`first_not_by_number`] compares [`first_eight`] bytes before whole keys,
//! and [`prefetch`] fetches memory ahead of its use.
//!
//! # Methods
//!
//! Each access to a key out of cache waits for memory. What counts is how few waits follow each
//! other, and how few instructions separate one look-up from the next, which the processor starts
//! meanwhile.
//!
//! - Windows of up to 40 integers are searched by counting with SIMD if the processor has AVX-512.
//! - Other windows of up to 136 integers or 34 byte strings are prefetched at once and then
//!   bisected without branches.
//! - Wider windows are searched from the middle, where the model expects the key: first as many
//!   keys as above around the middle; then, if the key is not among them, keys at distances that
//!   grow by a factor of 8; then seven keys at once that divide the rest into eight parts.
//!
//! Nanoseconds of processor time for a look-up of random present keys among 10 million integers (80
//! MB in pages of 4 KiB; AMD EPYC of family 26), in windows of `plr` with the given boundary. The
//! first number is for independent look-ups, the second for look-ups that each need the answer of
//! the one before. The last column was measured with bisection in all windows, including those of
//! 18 and 34:
//!
//! | window | `partition_point` | bisected, no prefetch, checked | AVX2 count | AVX-512 count | exponential | [`lower_bound_u64`] |
//! |---|---|---|---|---|---|---|
//! | 18 | 36 / 122 | 46 / 117 | 27 / 142 | 42 / 157 | 34 / 105 | 34 / 121 |
//! | 34 | 47 / 154 | 62 / 151 | 33 / 170 | 61 / 178 | 41 / 135 | 45 / 144 |
//! | 130 | 99 / 309 | 145 / 310 | 88 / 222 | 164 / 214 | 65 / 193 | 58 / 183 |
//! | 258 | 148 / 479 | 220 / 447 | 163 / 252 | 240 / 288 | 88 / 252 | 68 / 215 |
//! | 1,024 | 185 / 538 | 243 / 536 | 367 / 456 | 510 / 539 | 136 / 346 | 134 / 274 |
//! | a million, key within 100 of the middle | 746 / 1,870 | 1,137 / 2,131 | - | - | 137 / 283 | 103 / 238 |
//! | a million, key anywhere | 707 / 1,903 | 1,089 / 1,905 | - | - | 811 / 1,693 | 787 / 1,005 |
//!
//! In isolation, counting gains next to nothing. After an index it does gain: a bisection that
//! waits for memory fills the processor's queues with dependent instructions, so the next look-up
//! cannot start meanwhile. Over 10 million uniform integers, `plr:boundary=18` and the search took
//! 217 ns with bisection and 157 ns with counting, `pgm:boundary=18` 232 and 145 ns.
//!
//! Two million decimal keys of 24 bytes, each in a vector of its own, in windows of 18, 34, 130 and
//! 258:
//! [`lower_bound_bytes`] takes 440 / 478, 472 / 472, 748 / 848 and 1,272 / 1,481 ns,
//! `partition_point` 544 / 917, 836 / 1,298, 1,748 / 2,198 and 2,777 / 3,347 ns.
//!
//! `cargo bench -p rhumb-index --bench last_mile` repeats these measurements.

mod column;
mod count;
mod first_not;
mod numbers;
mod outward;
mod prefetch;
mod texts;

use std::ops::Range;

use crate::Window;

pub(crate) use column::{FEW, last_not_above, last_of_few};
pub(crate) use count::{Count, Counting, counting};
pub use first_not::{first_not, first_not_by_number};
pub use numbers::lower_bound_u64;
pub(crate) use numbers::{NEAR_NUMBERS, Number, lower_bound_in_column};
pub use prefetch::{LINE_BYTES, prefetch, prefetch_bytes, prefetch_line};
pub(crate) use texts::{NEAR_STRINGS, Strings, lower_bound_strings};
pub use texts::{common_prefix, first_eight, first_sixteen, lower_bound_bytes};

/// Clips a window to a slice; the result may be empty.
#[inline]
fn clamped(window: Window, len: usize) -> Range<usize> {
    let clamp = |rank: u64, end: usize| usize::try_from(rank).unwrap_or(end).min(end);
    let end = clamp(window.hi, len);
    clamp(window.lo, end)..end
}
