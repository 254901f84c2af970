//! The last mile: from the window that an index answers with to the rank of a key.
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
//! [`lower_bound_u64`] searches integers and [`lower_bound_bytes`] byte strings. What both are made of
//! serves keys that lie otherwise, as in the blocks of the `rhumb` store: [`first_not`] searches any
//! range of places, [`first_not_by_number`] compares [`first_eight`] bytes before whole keys, and
//! [`prefetch`] asks for memory ahead of its use.
//!
//! # What is done where
//!
//! Keys that are in no cache cost a wait each; what counts is how few waits follow each other, and how
//! few instructions are between one look-up and the next, which the processor begins meanwhile.
//!
//! - Windows of up to 40 integers: counted side by side, where the processor has AVX-512.
//! - Other windows of up to 136 integers or 34 byte strings: all of them are asked for at once, then
//!   bisected without branches.
//! - Wider ones, where a model mostly is nearly right: so many about the middle; where the key is not
//!   among them, places 8 times as far each, then seven places at once that cut the rest in eight.
//!
//! Nanoseconds of processor time a look-up, of random keys that are there among 10 million integers
//! (80 MB in pages of 4 KiB; AMD EPYC of family 26), in windows of `plr` with the boundary named. The
//! first number is of look-ups that follow each other freely, the second where each waits for the
//! answer of the one before it; the last column bisected all windows, those of 18 and 34 too:
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
//! Alone, counting gains next to nothing. Behind an index it does: a bisection that waits for memory
//! fills the processor's queues with instructions that wait too, and the next look-up cannot begin
//! meanwhile. Over 10 million uniform integers, `plr:boundary=18` and the search took 217 ns bisecting and
//! 157 ns counting, `pgm:boundary=18` 232 and 145.
//!
//! Two million decimal keys of 24 bytes, each a vector of its own, in windows of 18, 34, 130 and 258:
//! [`lower_bound_bytes`] takes 440 / 478, 472 / 472, 748 / 848 and 1,272 / 1,481 ns,
//! `partition_point` 544 / 917, 836 / 1,298, 1,748 / 2,198 and 2,777 / 3,347 ns.
//!
//! `cargo bench -p rhumb-index --bench last_mile` measures it anew.

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
pub(crate) use numbers::{Number, lower_bound_in_column};
pub use prefetch::{LINE_BYTES, prefetch, prefetch_bytes, prefetch_line};
pub(crate) use texts::{Strings, lower_bound_strings};
pub use texts::{common_prefix, first_eight, lower_bound_bytes};

/// The part of a window that is inside a slice; nobody has said that any is.
#[inline]
fn clamped(window: Window, len: usize) -> Range<usize> {
    let clamp = |rank: u64, end: usize| usize::try_from(rank).unwrap_or(end).min(end);
    let end = clamp(window.hi, len);
    clamp(window.lo, end)..end
}
