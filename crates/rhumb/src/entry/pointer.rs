//! Where a value lies that does not stand beside its key.

use std::fmt;

use super::varint;

/// The place of a value: a record of a value file (docs/format.md, Value file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The number of the file, below [`Pointer::LIMIT`].
    pub file: u64,
    /// Where the record begins, in bytes, below [`Pointer::LIMIT`].
    pub offset: u64,
    /// The length of the value in bytes.
    pub len: u32,
}

impl Pointer {
    /// The bytes of its encoded form.
    pub const BYTES: usize = 16;
    /// File numbers and offsets are below this one.
    pub const LIMIT: u64 = 1 << 48;

    /// Leads to no value: no value file has the number 0.
    pub const NOWHERE: Pointer = Pointer {
        file: 0,
        offset: 0,
        len: 0,
    };

    /// The pointer, if it can be encoded.
    pub fn new(file: u64, offset: u64, len: usize) -> Option<Self> {
        let len = u32::try_from(len).ok()?;
        let fits = file < Self::LIMIT && offset < Self::LIMIT;
        fits.then_some(Pointer { file, offset, len })
    }

    /// The length of the record of a value, in bytes.
    pub fn record_bytes(keyspace: u32, key_len: usize, value_len: u64) -> u64 {
        let numbers = [u64::from(keyspace), key_len as u64, value_len];
        let heads: usize = numbers.map(varint::encoded_bytes).iter().sum();
        // The kind in front and the checksum behind.
        1 + (heads + key_len) as u64 + value_len + 4
    }

    /// The encoded form, which stands where the value would outside of blocks.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let number =
            u128::from(self.file) | u128::from(self.offset) << 48 | u128::from(self.len) << 96;
        number.to_le_bytes()
    }

    /// Decodes a pointer; one that leads [nowhere](Pointer::NOWHERE) for bytes of another length.
    pub fn of_encoded(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes).unwrap_or(Self::NOWHERE)
    }

    /// Decodes a pointer; `None` for bytes of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = u128::from_le_bytes(bytes.try_into().ok()?);
        let low = |shift: u32| (number >> shift) as u64 & (Self::LIMIT - 1);
        Some(Pointer {
            file: low(0),
            offset: low(48),
            len: (number >> 96) as u32,
        })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, offset, file) = (self.len, self.offset, self.file);
        write!(f, "{len} bytes at {offset} of value file {file}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_come_back() {
        let most = Pointer::LIMIT - 1;
        for (file, offset, len) in [
            (0, 0, 0),
            (1, 2, 3),
            (most, 0, 0),
            (0, most, u32::MAX),
            (most, most, 1),
        ] {
            let pointer = Pointer::new(file, offset, len as usize).unwrap();
            assert_eq!(Pointer::from_bytes(&pointer.to_bytes()), Some(pointer));
        }
        let bytes = Pointer::new(0x0605_0403_0201, 7, 9).unwrap().to_bytes();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
    }

    #[test]
    fn what_does_not_fit_is_no_pointer() {
        assert_eq!(Pointer::new(Pointer::LIMIT, 0, 0), None);
        assert_eq!(Pointer::new(0, Pointer::LIMIT, 0), None);
        assert_eq!(Pointer::new(0, 0, 1 << 32), None);
        assert_eq!(Pointer::from_bytes(&[0; 15]), None);
        assert_eq!(Pointer::from_bytes(&[0; 17]), None);
    }
}
