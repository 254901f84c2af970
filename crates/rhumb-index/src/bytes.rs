//! Reads little-endian values without running out of bounds.

use crate::IndexError;

/// The `N` bytes at `at`; `None` if they are not all there.
#[inline(always)]
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// Element `i` of a column of `u64`, or 0 beyond its end.
#[inline(always)]
pub(crate) fn u64_of(column: &[u8], i: usize) -> u64 {
    array_at(column, i * 8).map_or(0, u64::from_le_bytes)
}

/// Element `i` of a column of `u32`, or 0 beyond its end.
#[inline(always)]
pub(crate) fn u32_of(column: &[u8], i: usize) -> u32 {
    array_at(column, i * 4).map_or(0, u32::from_le_bytes)
}

/// Element `i` of a column of `u16`, or 0 beyond its end.
#[inline(always)]
pub(crate) fn u16_of(column: &[u8], i: usize) -> u16 {
    array_at(column, i * 2).map_or(0, u16::from_le_bytes)
}

/// Element `i` of a column of `i16`, or 0 beyond its end.
#[inline(always)]
pub(crate) fn i16_of(column: &[u8], i: usize) -> i16 {
    array_at(column, i * 2).map_or(0, i16::from_le_bytes)
}

/// Element `i` of a column of `f32`, or 0 beyond its end.
#[inline(always)]
pub(crate) fn f32_of(column: &[u8], i: usize) -> f32 {
    array_at(column, i * 4).map_or(0.0, f32::from_le_bytes)
}

/// Appends a length as LEB128: seven bits in each byte, the low ones first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Splits a LEB128 length of at most five bytes off the front of `bytes`.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<usize> {
    match *bytes {
        // Nearly all.
        [byte @ ..0x80, rest @ ..] => {
            *bytes = rest;
            Some((*byte).into())
        }
        _ => take_long_varint(bytes),
    }
}

fn take_long_varint<'a>(bytes: &mut &'a [u8]) -> Option<usize> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest): (&'a u8, &'a [u8]) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return usize::try_from(value).ok();
        }
    }
    None
}

/// Reads a byte form from its front; every error names the structure, the offset and what was
/// expected.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    what: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Reader { what, bytes, at: 0 }
    }

    /// All bytes, read or not.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// An error at the current offset.
    pub(crate) fn damaged(&self, expected: impl Into<String>, found: impl ToString) -> IndexError {
        self.damaged_at(self.at, expected, found)
    }

    /// An error at any offset.
    pub(crate) fn damaged_at(
        &self,
        offset: usize,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> IndexError {
        IndexError::Damaged {
            what: self.what,
            offset,
            expected: expected.into(),
            found: found.to_string(),
        }
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], IndexError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..len).ok_or_else(|| {
            self.damaged(format!("{len} more bytes"), format!("{} bytes", rest.len()))
        })?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, IndexError> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    pub(crate) fn u16(&mut self) -> Result<u16, IndexError> {
        Ok(u16_of(self.take(2)?, 0))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, IndexError> {
        Ok(u32_of(self.take(4)?, 0))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, IndexError> {
        Ok(u64_of(self.take(8)?, 0))
    }

    /// The next four bytes as a length or a count.
    pub(crate) fn length(&mut self) -> Result<usize, IndexError> {
        Ok(self.u32()? as usize)
    }

    /// The next eight bytes as the number of keys, below 2^32, of a model with this many `parts`.
    /// There must be no parts if there are no keys, and some otherwise.
    pub(crate) fn keys(&mut self, parts: usize) -> Result<u64, IndexError> {
        let offset = self.at;
        let keys = self.u64()?;
        if keys > u64::from(u32::MAX) || (keys == 0) != (parts == 0) {
            let expected = format!(
                "a number of keys below 2^32, and 0 exactly if there are 0 parts, not {parts}"
            );
            return Err(self.damaged_at(offset, expected, keys));
        }
        Ok(keys)
    }

    /// Fails unless the next `len` bytes, which are reserved, are zero.
    pub(crate) fn reserved(&mut self, len: usize) -> Result<(), IndexError> {
        let start = self.at;
        for (offset, &byte) in (start..).zip(self.take(len)?) {
            if byte != 0 {
                return Err(self.damaged_at(offset, "zero in a reserved byte", byte));
            }
        }
        Ok(())
    }

    /// The next byte as a version from 1 to the newest `known`.
    pub(crate) fn version(&mut self, known: u8) -> Result<u8, IndexError> {
        let offset = self.at;
        match self.u8()? {
            0 => Err(self.damaged_at(offset, format!("a version from 1 to {known}"), 0)),
            later if later > known => Err(IndexError::Version {
                what: self.what,
                found: later.into(),
                known: known.into(),
            }),
            version => Ok(version),
        }
    }

    /// Reads the common header of an index of a known kind.
    pub(crate) fn header(&mut self, known: u8) -> Result<(), IndexError> {
        self.take(1)?;
        self.version(known)?;
        self.reserved(2)
    }

    /// Fails unless every byte has been read.
    pub(crate) fn end(&self) -> Result<(), IndexError> {
        match self.bytes.len().checked_sub(self.at) {
            Some(0) => Ok(()),
            left => Err(self.damaged("the end", format!("{} more bytes", left.unwrap_or(0)))),
        }
    }
}
