//! Numbers of variable length (LEB128), and a bounds-checked reader of encoded bytes.

/// The most bytes that a varint takes.
pub(crate) const MAX_VARINT_BYTES: usize = 10;

/// Appends `value`, seven bits in a byte, low bits first.
pub(crate) fn encode(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// How many bytes [`encode`] appends.
pub(crate) fn encoded_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends a varint length and `bytes`.
pub(crate) fn encode_bytes(bytes: &[u8], into: &mut Vec<u8>) {
    encode(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

/// The number at the start of `bytes` and the number of bytes it takes; `None` if the bytes end too
/// early or the number exceeds 64 bits.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(MAX_VARINT_BYTES).enumerate() {
        let bits = u64::from(byte & 0x7F);
        if i == MAX_VARINT_BYTES - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// A position in encoded bytes. Each call reads an item and moves past it; if the bytes do not hold
/// the item, it returns `None` and does not move.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, position: 0 }
    }

    /// The number of bytes read.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The bytes that were not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Whether all bytes were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.rest().get(..length)?;
        self.position += length;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.rest().first_chunk()?;
        self.position += N;
        Some(array)
    }

    /// One byte.
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// A little-endian number of four bytes.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A little-endian number of eight bytes.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A varint.
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let (value, length) = decode(self.rest())?;
        self.position += length;
        Some(value)
    }

    /// A varint length and that many bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let mut ahead = self.clone();
        let length = usize::try_from(ahead.varint()?).ok()?;
        let bytes = ahead.take(length)?;
        *self = ahead;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interesting() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| [0u64, 1, 2].map(|d| (1u64 << bit).wrapping_add(d).wrapping_sub(1)))
    }

    #[test]
    fn every_width_comes_back() {
        for value in interesting().chain([u64::MAX]) {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            assert_eq!(decode(&bytes), Some((value, bytes.len())), "{value}");
            for cut in 0..bytes.len() {
                assert_eq!(decode(&bytes[..cut]), None, "{value} cut at {cut}");
            }
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        let mut bytes = [0xFF; 10];
        bytes[9] = 1;
        assert_eq!(decode(&bytes), Some((u64::MAX, 10)));
        for last in [2, 3, 0x40, 0x80, 0x81, 0xFF] {
            bytes[9] = last;
            assert_eq!(decode(&bytes), None, "{last}");
        }
    }

    #[test]
    fn a_failed_read_leaves_the_position_unchanged() {
        let mut bytes = vec![7, 1, 2, 3, 4, 5, 6];
        encode_bytes(b"key", &mut bytes);
        encode(u64::MAX, &mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8(), Some(7));
        assert_eq!(reader.take(2), Some(&[1, 2][..]));
        assert_eq!(reader.u32(), Some(0x0605_0403));
        assert_eq!(reader.bytes(), Some(&b"key"[..]));
        let here = reader.position();
        assert_eq!(reader.bytes(), None);
        assert_eq!(reader.take(11), None);
        assert_eq!(reader.position(), here);
        assert_eq!(reader.varint(), Some(u64::MAX));
        assert!(reader.is_empty());
        assert_eq!(
            (reader.u8(), reader.u64(), reader.varint()),
            (None, None, None)
        );
    }
}
