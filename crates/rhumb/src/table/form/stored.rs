//! The stored form of a block: checksum, codec, raw length, payload; and of a unit: checksum, entries
//! (docs/format.md, Block and Unit).

use std::borrow::Cow;

use super::bits::word;
use super::codec::{CODEC_NONE, compress, decompress};
use super::damage::Damage;
use super::units::UnitShape;
use crate::entry::checksum::stamped;
use crate::options::Compression;

/// Bytes before the payload: checksum, codec, raw length.
pub(in crate::table) const STORED_HEADER_BYTES: usize = 9;

/// Appends the stored form of the raw block that `encode` appends, for `offset` of the table with this
/// id, and passes the raw block to `see`; returns the bytes of that. It is compressed if that saves at least 1/16 of it.
pub(in crate::table) fn store(
    encode: impl FnOnce(&mut Vec<u8>),
    see: impl FnOnce(&[u8]),
    compression: Compression,
    id: u64,
    offset: u64,
    into: &mut Vec<u8>,
) -> usize {
    let start = into.len();
    let payload = start + STORED_HEADER_BYTES;
    into.resize(payload, 0);
    encode(into);
    let raw = into.get(payload..).unwrap_or_default();
    see(raw);
    let raw_bytes = raw.len();
    let compressed = compress(raw, compression);
    let compressed = compressed.filter(|(_, c)| c.len() <= raw_bytes - raw_bytes / 16);
    let codec = match compressed {
        Some((codec, compressed)) => {
            into.truncate(payload);
            into.extend_from_slice(&compressed);
            codec
        }
        None => CODEC_NONE,
    };
    set(into, start + 4, &[codec]);
    set(into, start + 5, &(raw_bytes as u32).to_le_bytes());
    stamp(into, start, id, offset);
    raw_bytes
}

/// Appends a unit with the entries that `encode` appends, for `offset` of the table with this id, and passes the entries to
/// `see`; returns their bytes.
pub(in crate::table) fn store_unit(
    encode: impl FnOnce(&mut Vec<u8>),
    see: impl FnOnce(&[u8]),
    shape: UnitShape,
    id: u64,
    offset: u64,
    into: &mut Vec<u8>,
) -> usize {
    let start = into.len();
    into.extend_from_slice(&[0; 4]);
    encode(into);
    see(into.get(start + 4..).unwrap_or_default());
    stamp(into, start, id ^ shape.stamp(), offset);
    into.len() - start - 4
}

/// Puts the checksum of what follows it at `start`.
fn stamp(bytes: &mut [u8], start: usize, id: u64, offset: u64) {
    let crc = stamped(bytes.get(start + 4..).unwrap_or_default(), id, offset);
    set(bytes, start, &crc.to_le_bytes());
}

fn set(bytes: &mut [u8], at: usize, from: &[u8]) {
    for (to, from) in bytes.iter_mut().skip(at).zip(from) {
        *to = *from;
    }
}

/// Verifies a unit that was read from `offset` of the table with this id, and returns its entries.
///
/// # Errors
/// If the checksum does not match: the bytes are damaged, or this is no unit of this shape.
pub(in crate::table) fn load_unit(
    unit: &[u8],
    shape: UnitShape,
    id: u64,
    offset: u64,
) -> Result<&[u8], Damage> {
    verify(unit, id ^ shape.stamp(), offset, "unit")
}

/// Verifies a stored block that was read from `offset` of the table with this id, and returns its
/// raw form, of at most `raw_largest` bytes. If the block is not compressed, the raw form is
/// borrowed from it.
///
/// # Errors
/// If the checksum does not match, or the payload does not match its header.
pub(in crate::table) fn load(
    stored: &[u8],
    id: u64,
    offset: u64,
    raw_largest: u64,
) -> Result<Cow<'_, [u8]>, Damage> {
    verify(stored, id, offset, "block")?;
    let Some(payload) = stored.get(STORED_HEADER_BYTES..) else {
        return Err(Damage::new(
            0,
            "a stored block",
            format!("{} bytes", stored.len()),
        ));
    };
    let codec = stored.get(4).copied().unwrap_or(CODEC_NONE);
    let raw_bytes = u32::from_le_bytes(word(stored, 5));
    if u64::from(raw_bytes) > raw_largest {
        let expected = format!("a raw block of at most {raw_largest} bytes");
        return Err(Damage::new(5, expected, raw_bytes));
    }
    match codec {
        CODEC_NONE if payload.len() == raw_bytes as usize => Ok(Cow::Borrowed(payload)),
        CODEC_NONE => Err(Damage::new(5, payload.len(), raw_bytes)),
        _ => decompress(codec, payload, raw_bytes, STORED_HEADER_BYTES).map(Cow::Owned),
    }
}

/// The bytes behind the checksum of a piece that was read from `offset` of the table with this id.
fn verify<'b>(piece: &'b [u8], id: u64, offset: u64, what: &str) -> Result<&'b [u8], Damage> {
    let Some((crc, body)) = piece.split_first_chunk::<4>() else {
        let found = format!("{} bytes", piece.len());
        return Err(Damage::new(0, format!("a stored {what}"), found));
    };
    let (found, expected) = (stamped(body, id, offset), u32::from_le_bytes(*crc));
    if found != expected {
        let expected = format!("a {what} with checksum {expected:#010x}");
        return Err(Damage::new(0, expected, format!("{found:#010x}")));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::super::codec::{CODEC_LZ4, CODEC_ZSTD, lz4_largest};
    use super::*;

    /// The directory alone says where the columns of a unit begin, and which blocks are units.
    #[test]
    fn a_unit_is_neither_one_of_another_shape_nor_a_block() {
        let shape = |key, value, width| UnitShape { key, value, width };
        let mut unit = Vec::new();
        let encode = |into: &mut Vec<u8>| into.extend([7; 64]);
        store_unit(encode, |_| (), shape(8, 8, 0), 7, 4096, &mut unit);
        assert_eq!(load_unit(&unit, shape(8, 8, 0), 7, 4096).unwrap(), [7; 64]);
        for other in [shape(4, 12, 0), shape(8, 7, 1), shape(7, 8, 1)] {
            assert!(load_unit(&unit, other, 7, 4096).is_err());
        }
        assert!(load(&unit, 7, 4096, 1 << 20).is_err());
        let block = stored(&[7; 64], Compression::None);
        assert!(load_unit(&block, shape(8, 8, 0), 7, 4096).is_err());
    }

    fn stored(raw: &[u8], compression: Compression) -> Vec<u8> {
        // It follows other blocks.
        let mut bytes = vec![9; 5];
        let encode = |into: &mut Vec<u8>| into.extend_from_slice(raw);
        let mut seen = Vec::new();
        let see = |raw: &[u8]| seen.extend_from_slice(raw);
        assert_eq!(
            store(encode, see, compression, 7, 4096, &mut bytes),
            raw.len()
        );
        assert_eq!(seen, raw);
        assert_eq!(bytes[..5], [9; 5]);
        bytes.split_off(5)
    }

    #[test]
    fn blocks_come_back_and_are_compressed_only_if_it_pays() {
        let like = vec![3u8; 4000];
        let unlike: Vec<u8> = (0..1000u64)
            .flat_map(|i| crate::table::hash_key(&i.to_le_bytes()).to_le_bytes())
            .collect();
        for (raw, compression, codec) in [
            (&like, Compression::None, CODEC_NONE),
            (&like, Compression::Lz4, CODEC_LZ4),
            (&unlike, Compression::Lz4, CODEC_NONE),
        ] {
            let bytes = stored(raw, compression);
            assert_eq!(bytes[4], codec);
            assert_eq!(*load(&bytes, 7, 4096, 8000).unwrap(), raw[..]);
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn zstd_blocks_come_back_and_damage_in_them_is_refused() {
        let text: String = (0..400u32).map(|i| format!("{}/{i:07};", i * i)).collect();
        let raw = &text.as_bytes()[..5000];
        let good = stored(raw, Compression::Zstd);
        assert_eq!(good[4], CODEC_ZSTD);
        assert!(good.len() < raw.len());
        assert_eq!(*load(&good, 7, 4096, 5000).unwrap(), *raw);
        for at in 5..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x55;
            let crc = stamped(&bytes[4..], 7, 4096);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            // The bytes may decompress by chance; the checks of the block itself would follow.
            if let Ok(found) = load(&bytes, 7, 4096, u32::MAX.into()) {
                assert_eq!(found.len(), raw.len(), "byte {at}");
            }
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn a_thread_that_ends_compresses_and_reads_to_its_end() {
        struct AtEnd;
        impl Drop for AtEnd {
            fn drop(&mut self) {
                let bytes = stored(&[7; 1000], Compression::Zstd);
                assert_eq!(bytes[4], CODEC_ZSTD);
                assert_eq!(*load(&bytes, 7, 4096, 1000).unwrap(), [7; 1000]);
            }
        }
        thread_local!(static AT_END: AtEnd = const { AtEnd });
        // Thread-local values are dropped in the order of their creation: this one is created
        // before the contexts of the codec.
        let thread = std::thread::spawn(|| AT_END.with(|_| drop(AtEnd)));
        thread.join().unwrap();
    }

    #[cfg(not(feature = "zstd"))]
    #[test]
    fn the_error_for_a_zstd_block_names_the_cargo_feature() {
        let mut bytes = stored(&[1; 100], Compression::None);
        bytes[4] = CODEC_ZSTD;
        let crc = stamped(&bytes[4..], 7, 4096);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        let error = load(&bytes, 7, 4096, 1000).unwrap_err();
        let error = error.in_file(std::path::Path::new("t"), 0).to_string();
        assert!(error.contains("cargo feature `zstd`"), "{error}");
    }

    #[test]
    fn a_block_from_elsewhere_or_with_a_flip_is_refused() {
        let bytes = stored(b"some raw bytes", Compression::None);
        assert!(load(&bytes, 8, 4096, 100).is_err());
        assert!(load(&bytes, 7, 4097, 100).is_err());
        assert!(load(&bytes, 7, 4096, 13).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(load(&bytes, 7, 4096, 100).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(load(&bytes[..len], 7, 4096, 100).is_err());
        }
    }

    #[test]
    fn raw_bytes_that_no_payload_can_give_are_refused_before_they_are_allocated() {
        let zeros = vec![0; 1 << 20];
        let good = stored(&zeros, Compression::Lz4);
        assert_eq!(good[4], CODEC_LZ4);
        assert!(zeros.len() as u64 <= lz4_largest(&good[STORED_HEADER_BYTES..]));
        assert_eq!(*load(&good, 7, 4096, 1 << 20).unwrap(), zeros[..]);
        let mut bytes = good;
        bytes.truncate(STORED_HEADER_BYTES + 3);
        for (raw_bytes, possible) in [
            (3 * 255 + 64, true),
            (3 * 255 + 65, false),
            (u32::MAX, false),
        ] {
            bytes[5..9].copy_from_slice(&raw_bytes.to_le_bytes());
            let crc = stamped(&bytes[4..], 7, 4096);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            let damage = load(&bytes, 7, 4096, u32::MAX.into()).unwrap_err();
            // A possible length is refused only after decompressing.
            assert_eq!(
                format!("{damage:?}").contains("an LZ4 block"),
                possible,
                "{damage:?}"
            );
            assert_eq!(
                format!("{damage:?}").contains("at most 829 raw"),
                !possible,
                "{damage:?}"
            );
        }
    }

    #[test]
    fn damage_behind_a_right_checksum_is_refused() {
        let seal = |mut bytes: Vec<u8>| {
            let crc = stamped(&bytes[4..], 7, 4096);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            load(&bytes, 7, 4096, 10_000).map(Cow::into_owned)
        };
        let good = stored(&[5; 1000], Compression::Lz4);
        assert!(seal(good.clone()).is_ok());
        for at in 4..good.len() {
            for to in [0, 1, 2, 3, 0x7f, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = to;
                let _ = seal(bytes);
            }
        }
        let mut short = good.clone();
        short.truncate(12);
        assert!(seal(short).is_err());
    }
}
