//! Sizes and distribution of keys.

use crate::data::Input;
use crate::data::cdf::cdf;
use crate::results::Measured;

/// Points of a distribution.
const POINTS: usize = 200;

/// Sizes of keys and values, and the distribution of the keys. The samples of the distribution are
/// the positions, as shares of the span, of keys at evenly spaced ranks.
pub fn measure(input: &Input) -> Measured {
    let keys = input.keys.len() as f64;
    let mut measured = Measured::default();
    measured.put("keys", keys, "keys");
    measured.put("key_bytes", input.keys.bytes() as f64 / keys, "B/key");
    let values = input.user_bytes() - input.keys.bytes();
    measured.put("value_bytes", values as f64 / keys, "B/value");
    measured.put("user_bytes", input.user_bytes() as f64, "B");
    let places: Vec<f64> = cdf(&input.keys, POINTS)
        .iter()
        .map(|(place, _)| *place)
        .collect();
    measured.put_repeated("place", &places, "");
    measured
}
