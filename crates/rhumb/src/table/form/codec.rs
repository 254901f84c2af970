//! Compression of blocks: the number of each codec, compressing and decompressing.

use super::damage::Damage;
use crate::options::Compression;

pub(in crate::table) const CODEC_NONE: u8 = 0;
pub(in crate::table) const CODEC_LZ4: u8 = 1;
pub(in crate::table) const CODEC_ZSTD: u8 = 2;

/// The codec of a compression, and `raw` compressed by it; `None` for no compression, or if it is
/// not available.
pub(in crate::table) fn compress(raw: &[u8], compression: Compression) -> Option<(u8, Vec<u8>)> {
    match compression {
        Compression::None => None,
        Compression::Lz4 => Some((CODEC_LZ4, lz4_flex::block::compress(raw))),
        #[cfg(feature = "zstd")]
        Compression::Zstd => Some((CODEC_ZSTD, zstd_frames::compress(raw)?)),
        // Opening the store has refused this already.
        #[cfg(not(feature = "zstd"))]
        Compression::Zstd => None,
    }
}

/// Decompresses `payload`, which comes after `header` bytes of the stored block, to `raw_bytes`
/// bytes.
///
/// # Errors
/// If the payload cannot decompress to that many bytes (detected before they are allocated) or does
/// not, or if this build lacks the codec.
pub(in crate::table) fn decompress(
    codec: u8,
    payload: &[u8],
    raw_bytes: u32,
    header: usize,
) -> Result<Vec<u8>, Damage> {
    let (name, largest) = match codec {
        CODEC_LZ4 => ("an LZ4 block", lz4_largest(payload)),
        CODEC_ZSTD if cfg!(feature = "zstd") => ("a Zstd frame", zstd_largest(payload)),
        CODEC_ZSTD => {
            let what = "a build with the cargo feature `zstd`, for blocks compressed with Zstd";
            return Err(Damage::unsupported(what));
        }
        _ => return Err(Damage::unsupported(format!("blocks of codec {codec}"))),
    };
    if u64::from(raw_bytes) > largest {
        return Err(Damage::new(
            5,
            format!("at most {largest} raw bytes"),
            raw_bytes,
        ));
    }
    let mut raw = vec![0; raw_bytes as usize];
    let written = match codec {
        #[cfg(feature = "zstd")]
        CODEC_ZSTD => zstd_frames::decompress(payload, &mut raw),
        _ => lz4_flex::block::decompress_into(payload, &mut raw).map_err(|e| e.to_string()),
    };
    match written {
        Ok(n) if n == raw.len() => Ok(raw),
        Ok(n) => Err(Damage::new(5, format!("{raw_bytes} raw bytes"), n)),
        Err(e) => Err(Damage::new(header, name, e)),
    }
}

/// The most raw bytes to which an LZ4 block of this length can decompress, 255 for each byte.
/// Larger claims are refused before memory is allocated.
pub(in crate::table) fn lz4_largest(payload: &[u8]) -> u64 {
    (payload.len() as u64)
        .saturating_mul(255)
        .saturating_add(64)
}

/// As [`lz4_largest`], for a Zstd frame: each of its blocks takes at least 4 bytes and gives at
/// most 128 KiB (RFC 8878, section 3.1.1.2).
fn zstd_largest(payload: &[u8]) -> u64 {
    (payload.len() as u64).saturating_mul((128 << 10) / 4)
}

/// Zstd frames without a checksum, since blocks have one. Contexts are reused: creating one takes
/// longer than compressing a block.
#[cfg(feature = "zstd")]
mod zstd_frames {
    use std::cell::RefCell;
    use std::io;
    use std::thread::LocalKey;

    use zstd::bulk::{Compressor, Decompressor};

    /// The library's default, which compresses blocks of some KiB about as well as slower levels.
    const LEVEL: i32 = 3;

    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
        static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }

    /// `None` if memory is missing: the block is then stored uncompressed.
    pub(in crate::table) fn compress(raw: &[u8]) -> Option<Vec<u8>> {
        let new = || Compressor::new(LEVEL);
        with_kept(&COMPRESSOR, new, |compressor| compressor.compress(raw)).ok()
    }

    /// Returns the number of bytes written into `raw`.
    pub(in crate::table) fn decompress(payload: &[u8], raw: &mut [u8]) -> Result<usize, String> {
        let written = with_kept(&DECOMPRESSOR, Decompressor::new, |decompressor| {
            decompressor.decompress_to_buffer(payload, raw)
        });
        written.map_err(|e| e.to_string())
    }

    fn with_kept<C, T>(
        kept: &'static LocalKey<RefCell<Option<C>>>,
        new: impl FnOnce() -> io::Result<C>,
        work: impl FnOnce(&mut C) -> io::Result<T>,
    ) -> io::Result<T> {
        // While the thread ends its kept context is gone already, so a new one is made and dropped.
        let mut context = match kept.try_with(RefCell::take).ok().flatten() {
            Some(context) => context,
            None => new()?,
        };
        let done = work(&mut context);
        let _ = kept.try_with(|kept| kept.replace(Some(context)));
        done
    }
}
