//! The byte form of a key map, version 1, little-endian.
//!
//! ```text
//! offset  size  field
//!      0     1  version = 1
//!      1     1  flags: bit 0 truncated, bit 1 made from no key
//!      2     2  D, number of digits (0..=64)
//!      4     4  length of the shortest key, at most the depth
//!      8     4  L, number of literals; the depth is D + L, at most 65,536
//!     12     2  A, number of alphabets, at most D
//!     14     2  reserved, zero
//!     16        A alphabets: 0, lo, hi (every byte of lo..=hi); or 1 and a set of 32 bytes, in
//!               which bit b % 8 of byte b / 8 stands for byte b
//!            6  D digits, by position: position (4), alphabet (2)
//!            L  literals, in the order of the other positions
//! ```
//!
//! END is a symbol of every position from the shortest key's length on.

use super::alphabet::{Alphabet, ByteSet};
use super::{Digit, KeyMap, MAX_DEPTH, Method};
use crate::IndexError;
use crate::bytes::{Reader, u64_of};

const VERSION: u8 = 1;
const TRUNCATED: u8 = 1;
const EMPTY: u8 = 2;

impl KeyMap {
    /// The byte form, which [`KeyMap::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flags = u8::from(self.truncated) * TRUNCATED + u8::from(self.empty) * EMPTY;
        let mut out = vec![VERSION, flags];
        out.extend((self.digits.len() as u16).to_le_bytes());
        out.extend(self.shortest.to_le_bytes());
        out.extend((self.literals.len() as u32).to_le_bytes());
        out.extend((self.alphabets.len() as u16).to_le_bytes());
        out.extend([0, 0]);
        for alphabet in &self.alphabets {
            match alphabet {
                Alphabet::Range { lo, hi } => out.extend([0, *lo, *hi]),
                Alphabet::Set(ranks) => {
                    out.push(1);
                    ranks
                        .set
                        .0
                        .iter()
                        .for_each(|word| out.extend(word.to_le_bytes()));
                }
            }
        }
        for digit in &self.digits {
            out.extend(digit.position.to_le_bytes());
            out.extend(u16::from(digit.alphabet).to_le_bytes());
        }
        out.extend(&self.literals);
        out
    }

    /// Reads the byte form of exactly one map.
    ///
    /// # Errors
    /// [`IndexError::Version`] for a later version; [`IndexError::Damaged`] for bytes that are not
    /// a version 1 map. Every map that is accepted is monotone.
    pub fn from_bytes(bytes: &[u8]) -> Result<KeyMap, IndexError> {
        let mut reader = Reader::new("key map", bytes);
        reader.version(VERSION)?;
        let flags = reader.u8()?;
        if flags > TRUNCATED + EMPTY {
            return Err(reader.damaged("flags 0 to 3", flags));
        }
        let digits = usize::from(reader.u16()?);
        let shortest = reader.u32()?;
        let literals = reader.length()?;
        let alphabets = usize::from(reader.u16()?);
        let depth = digits.saturating_add(literals);
        if digits > 64 || depth > MAX_DEPTH || shortest as usize > depth || alphabets > digits {
            return Err(reader.damaged(
                "at most 64 digits, 65,536 positions, as many alphabets as digits, a shortest key \
                 within the positions",
                format!("{digits}, {depth}, {alphabets}, {shortest}"),
            ));
        }
        if flags & EMPTY != 0 && (depth != 0 || flags != EMPTY) {
            return Err(reader.damaged("no positions in a map of no keys", depth));
        }
        reader.reserved(2)?;
        let mut map = KeyMap {
            alphabets: read_alphabets(&mut reader, alphabets)?,
            digits: read_digits(&mut reader, digits, alphabets, depth, shortest)?,
            literals: reader.take(literals)?.to_vec(),
            product: 1,
            shortest,
            truncated: flags & TRUNCATED != 0,
            empty: flags & EMPTY != 0,
            method: Method::Digits,
        };
        reader.end()?;
        map.prepare()
            .ok_or_else(|| reader.damaged("at most 2^64 numbers", "more"))?;
        Ok(map)
    }
}

fn read_alphabets(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Alphabet>, IndexError> {
    let mut alphabets = Vec::with_capacity(count);
    for _ in 0..count {
        let offset = reader.at();
        let form = reader.u8()?;
        let alphabet = match form {
            0 => {
                let (lo, hi) = (reader.u8()?, reader.u8()?);
                (lo <= hi).then_some(Alphabet::Range { lo, hi })
            }
            1 => {
                let words = reader.take(32)?;
                // A set that is a range has another form, so that each map has only one byte form.
                Alphabet::new(ByteSet([0, 1, 2, 3].map(|i| u64_of(words, i))))
                    .filter(|alphabet| matches!(alphabet, Alphabet::Set(_)))
            }
            _ => return Err(reader.damaged_at(offset, "an alphabet of form 0 or 1", form)),
        };
        alphabets.push(alphabet.ok_or_else(|| {
            let found = if form == 0 {
                "a range that descends"
            } else {
                "a set that is empty or a range"
            };
            reader.damaged_at(
                offset,
                "an ascending range, or a set that is not a range",
                found,
            )
        })?);
    }
    Ok(alphabets)
}

fn read_digits(
    reader: &mut Reader<'_>,
    count: usize,
    alphabets: usize,
    depth: usize,
    shortest: u32,
) -> Result<Vec<Digit>, IndexError> {
    let mut digits: Vec<Digit> = Vec::with_capacity(count);
    for _ in 0..count {
        let (position, alphabet) = (reader.u32()?, reader.u16()?);
        let ascends = digits.last().is_none_or(|last| last.position < position);
        if !ascends || position as usize >= depth || usize::from(alphabet) >= alphabets {
            return Err(reader.damaged(
                format!("an ascending position below {depth} and one of {alphabets} alphabets"),
                format!("position {position}, alphabet {alphabet}"),
            ));
        }
        // At most 64 alphabets.
        digits.push(Digit::new(position, alphabet as u8));
    }
    let ending = digits.iter().filter(|digit| digit.position >= shortest);
    let ending = ending.count();
    if ending != depth - shortest as usize {
        return Err(reader.damaged("a digit at every position where keys may end", ending));
    }
    Ok(digits)
}
