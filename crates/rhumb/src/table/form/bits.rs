//! Numbers of a fixed width in bits, packed starting from the low bit (docs/format.md, Block and
//! Directory).

/// How many bytes `count` numbers of `width` bits take; `None` if that overflows.
pub(in crate::table) fn packed_bytes(count: u64, width: u32) -> Option<usize> {
    let bits = u128::from(count) * u128::from(width);
    usize::try_from(bits.div_ceil(8)).ok()
}

/// The smallest width in bits that holds `largest`.
pub(in crate::table) fn width_of(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// Appends `numbers`, each below 2^`width`, and pads to a whole byte.
pub(in crate::table) fn pack(numbers: impl Iterator<Item = u64>, width: u32, into: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    pack_each(numbers.map(|number| (number, width)), into);
}

/// Appends numbers with their widths in bits, each below 2^width, and pads to a whole byte.
pub(in crate::table) fn pack_each(numbers: impl Iterator<Item = (u64, u32)>, into: &mut Vec<u8>) {
    let (mut open, mut bits) = (0u128, 0);
    for (number, width) in numbers {
        open |= u128::from(number) << bits;
        bits += width;
        while bits >= 8 {
            into.push(open as u8);
            open >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        into.push(open as u8);
    }
}

/// The number at `index`; bytes after the end of `bytes` count as zero.
#[inline]
pub(in crate::table) fn unpack(bytes: &[u8], index: u64, width: u32) -> u64 {
    bits_at(bytes, index.wrapping_mul(u64::from(width)), width)
}

/// The number of `width` bits that begins at a bit; bytes after the end of `bytes` count as zero.
#[inline]
pub(in crate::table) fn bits_at(bytes: &[u8], bit: u64, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (byte, shift) = ((bit / 8) as usize, (bit % 8) as u32);
    let mask = u64::MAX >> (64 - width.min(64));
    let rest = bytes.get(byte..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(word) if shift + width <= 64 => (u64::from_le_bytes(*word) >> shift) & mask,
        _ => {
            let mut word = [0; 16];
            for (to, from) in word.iter_mut().zip(rest) {
                *to = *from;
            }
            ((u128::from_le_bytes(word) >> shift) as u64) & mask
        }
    }
}

/// The little-endian number of `N` bytes at `at`; zero if it does not lie inside `bytes`.
#[inline]
pub(in crate::table) fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_comes_back() {
        for width in 0..=64u32 {
            let mask = if width == 0 {
                0
            } else {
                u64::MAX >> (64 - width)
            };
            let numbers: Vec<u64> = (0..40u64)
                .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask)
                .chain([mask])
                .collect();
            let mut bytes = Vec::new();
            pack(numbers.iter().copied(), width, &mut bytes);
            assert_eq!(Some(bytes.len()), packed_bytes(41, width));
            for (i, number) in numbers.iter().enumerate() {
                assert_eq!(unpack(&bytes, i as u64, width), *number, "width {width}");
                assert!(width_of(*number) <= width);
            }
        }
    }

    #[test]
    fn numbers_behind_the_end_are_zero() {
        assert_eq!(unpack(&[0xff; 3], u64::MAX, 57), 0);
        assert_eq!(unpack(&[0xff; 3], 1, 13), 0x7ff);
        assert_eq!(
            packed_bytes(u64::MAX, 57),
            usize::try_from(u128::from(u64::MAX) * 57 / 8 + 1).ok()
        );
    }
}
