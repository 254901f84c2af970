//! Tie bits: one bit for each key that says whether it shares its number with the key before it.

use crate::IndexError;
use crate::bytes::{Reader, u64_of};

/// Bytes of the bits of `keys` keys.
fn bytes_of(keys: u64) -> usize {
    keys.div_ceil(64) as usize * 8
}

/// Writes the bits of `keys` keys, given the distinct numbers and the ranks of their first keys.
pub(super) fn put(keys: u64, entries: &[(u64, u64)], out: &mut Vec<u8>) {
    let mut firsts = entries.iter().map(|entry| entry.1).peekable();
    for word in 0..keys.div_ceil(64) {
        let ranks = word * 64..keys.min(word * 64 + 64);
        let mut bits = 0u64;
        for (bit, rank) in ranks.enumerate() {
            let is_first = firsts.next_if_eq(&rank).is_some();
            bits |= u64::from(!is_first) << bit;
        }
        out.extend(bits.to_le_bytes());
    }
}

/// Reads the bits of `keys` keys with `firsts` distinct numbers. Returns the length of the longest
/// run of keys that share a number.
///
/// # Errors
/// [`IndexError::Damaged`] if the bits do not fit these counts.
pub(super) fn read(reader: &mut Reader<'_>, keys: u64, firsts: u64) -> Result<u64, IndexError> {
    let offset = reader.at();
    let words = reader.take(bytes_of(keys))?.as_chunks::<8>().0;
    let words = || words.iter().map(|word| u64::from_le_bytes(*word));
    let set: u64 = words().map(|word| u64::from(word.count_ones())).sum();
    let starts_tied = words().next().is_some_and(|word| word & 1 == 1);
    let behind = match keys % 64 {
        0 => 0,
        used => words().next_back().map_or(0, |word| word >> used),
    };
    if starts_tied || behind != 0 || set + firsts != keys {
        let expected = format!(
            "{} of {keys} bits set, the first bit clear",
            keys.saturating_sub(firsts)
        );
        return Err(reader.damaged_at(offset, expected, format!("{set} bits set")));
    }
    let (mut longest, mut run) = (1u64, 1u64);
    for mut word in words() {
        let mut left = 64;
        while left > 0 {
            let ones = word.trailing_ones().min(left);
            (run, left) = (run + u64::from(ones), left - ones);
            longest = longest.max(run);
            if left == 0 {
                break;
            }
            let zeros = (word >> ones).trailing_zeros().min(left);
            (run, left) = (1, left - zeros);
            word = word.checked_shr(ones + zeros).unwrap_or(0);
        }
    }
    Ok(longest)
}

/// The length of the run whose first key has this rank.
pub(super) fn run(bits: &[u8], rank: u64) -> u64 {
    let mut next = rank + 1;
    loop {
        let word = u64_of(bits, (next / 64) as usize) >> (next % 64);
        let ones = u64::from(word.trailing_ones());
        next += ones;
        // The run reaches the end of the word: continue in the next one.
        if ones == 0 || !next.is_multiple_of(64) {
            return next - rank;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_across_words() {
        for lengths in [
            vec![1, 2, 3],
            vec![64],
            vec![65, 1],
            vec![1, 63, 64, 128, 1],
            vec![200, 1, 1, 7],
            vec![63, 2, 63, 2],
        ] {
            let keys: u64 = lengths.iter().sum();
            let firsts = lengths.iter().scan(0, |at, length| {
                *at += length;
                Some((0, *at - length))
            });
            let entries: Vec<(u64, u64)> = firsts.collect();
            let mut bits = Vec::new();
            put(keys, &entries, &mut bits);
            for (entry, length) in entries.iter().zip(&lengths) {
                assert_eq!(run(&bits, entry.1), *length, "{lengths:?}");
            }
            let firsts = entries.len() as u64;
            let longest = read(&mut Reader::new("test", &bits), keys, firsts);
            assert_eq!(longest, Ok(*lengths.iter().max().unwrap()), "{lengths:?}");
            assert!(read(&mut Reader::new("test", &bits), keys, firsts + 1).is_err());
        }
    }
}
