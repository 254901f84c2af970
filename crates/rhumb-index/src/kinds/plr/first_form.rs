//! Converts version 1 of `plr`'s bytes, which stored each field of the segments in a column, into
//! version 2, which stores them in records.

use crate::IndexError;
use crate::bytes::Reader;
use crate::kind::HEADER;

/// Converts an index from version 1 to version 2. The field values are checked when the result is
/// opened.
///
/// # Errors
/// [`IndexError::Damaged`] if the length does not fit the number of segments.
pub(super) fn to_second(bytes: &[u8]) -> Result<Vec<u8>, IndexError> {
    let mut reader = Reader::new(super::KIND.name, bytes);
    reader.take(HEADER)?;
    let segments = reader.length()?;
    let keys = reader.u64()?;
    reader.take(2)?;
    let has_runs = reader.u16()? & 1 != 0;
    reader.reserved(4)?;
    let mut second = super::KIND.header().to_vec();
    let head = bytes.get(HEADER..reader.at());
    second.extend(head.unwrap_or_default());
    let mut column = |width: usize| reader.take(segments.saturating_mul(width));
    second.extend(column(8)?);
    let (ranks, slopes, offsets, errors) = (column(4)?, column(4)?, column(2)?, column(2)?);
    let runs = if has_runs { column(2)? } else { &[] };
    reader.end()?;
    let words = ranks.chunks_exact(4).zip(slopes.chunks_exact(4));
    let halves = offsets.chunks_exact(2).zip(errors.chunks_exact(2));
    for ((rank, slope), (offset, error)) in words.zip(halves) {
        second.extend([rank, slope, offset, error].concat());
    }
    second.extend((keys as u32).to_le_bytes());
    second.extend([0; 8]);
    second.extend(runs);
    Ok(second)
}

#[cfg(test)]
mod tests {
    use crate::bytes::u32_of;
    use crate::check::{Case, SplitMix64, build, distributions, map_of};
    use crate::registry;

    /// The byte form of version 1 for the same lines.
    fn first_form(second: &[u8]) -> Vec<u8> {
        let segments = u32_of(second, 1) as usize;
        let (head, rest) = second.split_at(24);
        let (numbers, rest) = rest.split_at(8 * segments);
        let (records, rest) = rest.split_at(12 * segments);
        let mut first = [head, numbers].concat();
        first[1] = 1;
        for (at, width) in [(0, 4), (4, 4), (8, 2), (10, 2)] {
            first.extend(records.chunks(12).flat_map(|r| r[at..at + width].to_vec()));
        }
        first.extend(&rest[12..]);
        first
    }

    #[test]
    fn both_forms_give_the_same_answers() {
        for distribution in distributions::all() {
            let keys = distribution.keys(&mut SplitMix64::new(9), 2_000);
            let spec = "plr".parse().unwrap();
            let case = Case::new(&keys, &spec, 10);
            let Ok(second) = build(&case, &map_of(&keys)) else {
                continue;
            };
            let first = first_form(&second);
            assert_eq!(super::to_second(&first).unwrap(), second);
            assert!(
                registry::open(first.clone()).is_ok(),
                "{}",
                distribution.name
            );
            for len in 0..first.len().min(200) {
                assert!(registry::open(first[..len].to_vec()).is_err());
            }
        }
    }
}
