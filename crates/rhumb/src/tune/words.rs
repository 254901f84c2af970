//! Numbers as words of a text.

use std::str::SplitWhitespace;

/// A number that is neither infinite nor none.
pub(super) fn number(words: &mut SplitWhitespace<'_>) -> Option<f64> {
    let number: f64 = words.next()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number that may be missing, as a word.
pub(super) fn optional(number: Option<f64>) -> String {
    number.map_or("-".to_string(), |number| format!("{number:?}"))
}

/// Reads such a word; `None` if it is neither.
pub(super) fn optional_number(words: &mut SplitWhitespace<'_>) -> Option<Option<f64>> {
    if words.clone().next()? == "-" {
        words.next();
        return Some(None);
    }
    number(words).map(Some)
}

/// So many numbers.
pub(super) fn numbers<const N: usize>(words: &mut SplitWhitespace<'_>) -> Option<[f64; N]> {
    let numbers: Option<Vec<f64>> = (0..N).map(|_| number(words)).collect();
    numbers?.try_into().ok()
}
