//! Bodies of fuzz targets over the decoders of pointers and value files, with the feature `test-kit`: whatever the bytes
//! are, nothing panics, and what is read is either refused or inside its bounds.

use std::path::Path;

pub use crate::table::fuzz::pointer_block;
use crate::vlog::{HEADER_BYTES, RecordWalk, encode_record, header};

/// The number of the value file that is read.
const FILE: u64 = 7;

/// Writes records that the first half of the bytes chooses, changes one byte of them as the rest says, appends the rest, and
/// reads it all.
///
/// # Panics
/// If a record is none of those that were written.
pub fn value_file(bytes: &[u8]) {
    let path = Path::new("000007.values");
    let mut file = header(FILE).to_vec();
    let (sound, rest) = bytes.split_at(bytes.len() / 2);
    // Keys and values of lengths that the bytes choose.
    let records: Vec<(&[u8], &[u8])> = sound
        .chunk_by(|a, b| a <= b)
        .map(|part| part.split_at(part.len() / 3))
        .collect();
    for (key, value) in &records {
        encode_record((1, key, value), (FILE, file.len() as u64), &mut file);
    }
    let end = file.len();
    // A change among the records, where the rest says, then the rest itself.
    let flip = rest.first_chunk::<3>().map(|[low, high, xor]| {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % end;
        (at, *xor)
    });
    if let Some((at, xor)) = flip
        && let Some(byte) = file.get_mut(at)
    {
        *byte ^= xor;
    }
    file.extend_from_slice(rest);
    let (changed, xor) = flip.unwrap_or_default();
    let walk = RecordWalk::new(path, FILE, &file);
    assert_eq!(walk.is_err(), xor != 0 && changed < HEADER_BYTES);
    let Ok(walk) = walk else { return };
    let (mut count, mut at) = (0, HEADER_BYTES as u64);
    for record in walk.map_while(Result::ok) {
        // Records do not overlap, and none is longer than the file.
        assert!(record.pointer.offset >= at);
        at = record.pointer.offset + (record.key.len() + record.value.len()) as u64;
        assert!(at <= file.len() as u64);
        if let Some((key, value)) = records.get(count) {
            assert_eq!((record.key, record.value), (*key, *value));
        }
        count += 1;
    }
    assert!(count >= records.len() || xor != 0);
}
