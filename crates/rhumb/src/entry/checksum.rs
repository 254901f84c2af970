//! The checksum of a piece of a file, which also depends on the file's id and the piece's offset;
//! see docs/format.md.

use crc_fast::{CrcAlgorithm, Digest, crc32_iscsi};

/// CRC-32C (Castagnoli) of `bytes`.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    crc32_iscsi(bytes)
}

/// The CRC-32C of a concatenation, from the CRC-32C `before` of its first part and the rest,
/// `bytes`.
pub(crate) fn crc_append(before: u32, bytes: &[u8]) -> u32 {
    // A checksum is the complement of the state that it ends with.
    let mut whole = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!before));
    whole.update(bytes);
    whole.finalize() as u32
}

/// The stamp that is added to the checksum of a piece at `offset` of the file with this id.
pub(crate) fn stamp(id: u64, offset: u64) -> u32 {
    let mixed = (id ^ offset.rotate_left(32) ^ offset).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as u32
}

/// The checksum that is stored with `bytes` at `offset` of the file with this id.
pub(crate) fn stamped(bytes: &[u8], id: u64, offset: u64) -> u32 {
    crc(bytes).wrapping_add(stamp(id, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_castagnoli() {
        // The check value of CRC-32C, and the test vectors of RFC 3720, B.4.
        assert_eq!(crc(b"123456789"), 0xE306_9283);
        assert_eq!(crc(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc_append(crc(b"1234"), b"56789"), crc(b"123456789"));
    }

    /// Bit by bit, as the polynomial defines it.
    fn defined(bytes: &[u8]) -> u32 {
        let step = |state: u32, _| (state >> 1) ^ (0x82F6_3B78 & 0u32.wrapping_sub(state & 1));
        let add = |state: u32, byte: &u8| (0..8).fold(state ^ u32::from(*byte), step);
        !bytes.iter().fold(!0, add)
    }

    #[test]
    fn the_processors_way_for_each_length_gives_what_the_polynomial_defines() {
        let bytes: Vec<u8> = (0..5_000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let lengths = (0..600).chain((600..bytes.len()).step_by(61));
        for length in lengths {
            // The start is aligned in all ways as well.
            let part = &bytes[length % 67..][..length.min(bytes.len() - length % 67)];
            let sum = defined(part);
            assert_eq!(crc(part), sum, "{length} bytes");
            let (first, rest) = part.split_at(length * 7 % (part.len() + 1));
            assert_eq!(
                crc_append(crc(first), rest),
                sum,
                "{length} bytes in two parts"
            );
        }
    }

    #[test]
    fn neighbouring_places_have_different_stamps() {
        let ids = (0..64).chain(u64::MAX - 63..=u64::MAX);
        let places = ids.flat_map(|id| (0..64u64).map(move |block| (id, block * 4096)));
        let mut stamps: Vec<u32> = places.map(|(id, offset)| stamp(id, offset)).collect();
        let all = stamps.len();
        stamps.sort_unstable();
        stamps.dedup();
        assert!(
            all - stamps.len() < 8,
            "{} of {all} stamps collide",
            all - stamps.len()
        );
    }

    #[test]
    fn a_stamp_can_be_exchanged() {
        let at = |id, offset| stamped(b"piece", id, offset);
        let moved = at(3, 100)
            .wrapping_sub(stamp(3, 100))
            .wrapping_add(stamp(9, 4096));
        assert_eq!(moved, at(9, 4096));
    }
}
