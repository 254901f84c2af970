//! Checksums of any stretch of some bytes, each in about the same time however long it is.
//!
//! Who looks for sound pieces behind damage finds a length at every byte, and forged ones claim that
//! each piece is most of the file. Hashing each would take time in the square of the file's length.
//! A CRC is linear: that of a stretch follows from those of the bytes before it and up to its end, and
//! "followed by n bytes" is a multiplication by x^8n modulo the polynomial.

use std::cell::OnceCell;
use std::ops::Range;

use super::checksum::{crc, crc_append};

/// How far apart the prefixes are whose checksums are kept.
const STEP: usize = 64;

/// Shorter stretches are hashed.
const SHORT: usize = 4 * STEP;

/// The polynomial of CRC-32C, lowest power in the highest bit, as checksums are.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// x^0 in this order of bits, and x^8.
const ONE: u32 = 1 << 31;
const ONE_BYTE: u32 = 1 << 23;

/// `POWERS[j][i]` is x to the power of 8 * i * 256^j: one factor for each byte of a length.
const POWERS: [[u32; 256]; 4] = powers();

const fn powers() -> [[u32; 256]; 4] {
    let mut powers = [[ONE; 256]; 4];
    let (mut step, mut byte) = (ONE_BYTE, 0);
    while byte < 4 {
        let mut i = 1;
        while i < 256 {
            powers[byte][i] = multiply(powers[byte][i - 1], step);
            i += 1;
        }
        step = multiply(powers[byte][255], step);
        byte += 1;
    }
    powers
}

/// The product of two polynomials modulo that of CRC-32C.
const fn multiply(a: u32, mut b: u32) -> u32 {
    let (mut product, mut bit) = (0, 32);
    while bit > 0 {
        bit -= 1;
        product ^= b & 0u32.wrapping_sub((a >> bit) & 1);
        b = (b >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(b & 1));
    }
    product
}

/// What the checksum of a prefix contributes to that of the prefix and `length` more bytes.
fn moved(checksum: u32, length: u32) -> u32 {
    let bytes = length.to_le_bytes();
    let factors = POWERS.iter().zip(bytes).filter(|(_, byte)| *byte > 0);
    factors.fold(checksum, |moved, (powers, byte)| {
        multiply(moved, powers.get(usize::from(byte)).copied().unwrap_or(ONE))
    })
}

/// Some bytes whose stretches can be asked for their checksums.
#[derive(Debug)]
pub(crate) struct Stretches<'a> {
    bytes: &'a [u8],
    /// The checksums of the first 0, 64, 128, ... bytes; made when the first long stretch is asked for.
    prefixes: OnceCell<Vec<u32>>,
}

impl<'a> Stretches<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let prefixes = OnceCell::new();
        Stretches { bytes, prefixes }
    }

    /// The CRC-32C of a stretch; `None` if it is not inside the bytes, or has 4 GiB or more.
    pub fn crc(&self, stretch: Range<usize>) -> Option<u32> {
        let bytes = self.bytes.get(stretch.clone())?;
        if bytes.len() <= SHORT {
            return Some(crc(bytes));
        }
        let length = u32::try_from(bytes.len()).ok()?;
        Some(self.prefix(stretch.end)? ^ moved(self.prefix(stretch.start)?, length))
    }

    /// The checksum of the first `end` bytes.
    fn prefix(&self, end: usize) -> Option<u32> {
        let prefixes = self.prefixes.get_or_init(|| {
            let mut prefixes = vec![0];
            prefixes.extend(self.bytes.chunks(STEP).scan(0, |checksum, step| {
                *checksum = crc_append(*checksum, step);
                Some(*checksum)
            }));
            prefixes
        });
        let step = end / STEP;
        let rest = self.bytes.get(step * STEP..end)?;
        Some(crc_append(*prefixes.get(step)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stretch_has_the_checksum_of_its_bytes() {
        let bytes: Vec<u8> = (0..70_000u32)
            .map(|i| (i.wrapping_mul(i) >> 3) as u8)
            .collect();
        let stretches = Stretches::new(&bytes);
        let ends = [
            0, 1, 63, 64, 65, 255, 256, 257, 4_095, 65_535, 65_536, 69_999, 70_000,
        ];
        for from in ends {
            for to in ends.into_iter().filter(|to| *to >= from) {
                assert_eq!(
                    stretches.crc(from..to),
                    Some(crc(&bytes[from..to])),
                    "{from}..{to}"
                );
            }
        }
        assert_eq!(stretches.crc(0..70_001), None);
    }

    #[test]
    fn lengths_of_four_bytes_are_moved_over() {
        // As many zeros as the length says, by doubling.
        let mut zeros = crc(&[0]);
        for bits in 0..31 {
            let length = 1u32 << bits;
            let doubled = zeros ^ moved(zeros, length);
            if bits < 20 {
                assert_eq!(doubled, crc(&vec![0; 2 << bits]), "2^{bits}");
            }
            let halves = moved(moved(0xFEED, length), length);
            assert_eq!(halves, moved(0xFEED, length * 2), "2^{bits}");
            zeros = doubled;
        }
    }
}
