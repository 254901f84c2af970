//! The body of a fuzz target over blocks with pointers.

use super::block::{BlockBuilder, BlockLayout, BlockView, NewEntry};
use crate::entry::{EntryKind, Pointer};

/// The bytes from which one entry is made: a kind, a file, an offset, a length.
const ENTRY_BYTES: usize = 12;

/// Makes a block of entries that the first bytes choose, changes it as the last ones say, and reads it.
///
/// # Panics
/// If an entry of an unchanged block does not come back, or a changed block that is not refused has a pointer outside of
/// its bounds.
pub fn pointer_block(bytes: &[u8]) {
    let Some((count, bytes)) = bytes.split_first() else {
        return;
    };
    let entries = bytes.len().min((usize::from(*count) + 1) * ENTRY_BYTES) / ENTRY_BYTES;
    let (made, changes) = bytes.split_at(entries * ENTRY_BYTES);
    let made: Vec<_> = made.chunks_exact(ENTRY_BYTES).map(entry).collect();
    let mut builder = BlockBuilder::default();
    for (place, (kind, pointer)) in made.iter().enumerate() {
        let stored = pointer.to_bytes();
        let value = match kind {
            EntryKind::Delete => &[][..],
            EntryKind::Put => stored.get(..place % 3 + 1).unwrap_or_default(),
            EntryKind::Pointer => &stored,
        };
        let entry = NewEntry {
            key: &(place as u64).to_be_bytes(),
            sequence: pointer.offset,
            kind: *kind,
            value,
            new_key: true,
        };
        builder.push_within(&entry, usize::MAX);
    }
    if made.is_empty() {
        return;
    }
    let mut raw = Vec::new();
    builder.encode(None, None, &mut raw);
    assert_eq!(raw.len(), builder.raw_bytes());
    for change in changes.chunks_exact(3) {
        if let [low, high, xor] = change {
            let at = usize::from(u16::from_le_bytes([*low, *high])) % raw.len();
            if let Some(byte) = raw.get_mut(at) {
                *byte ^= xor;
            }
        }
    }
    read(&raw, (changes.len() < 3).then_some(&made));
}

fn entry(bytes: &[u8]) -> (EntryKind, Pointer) {
    let number = |from: usize, to: usize| {
        let bytes = bytes.get(from..to).unwrap_or_default().iter();
        bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let kind = match number(0, 1) % 8 {
        0 => EntryKind::Delete,
        1 => EntryKind::Put,
        _ => EntryKind::Pointer,
    };
    // The first byte says how large the others may be, so that columns of all widths come up.
    let (files, offsets) = (number(0, 1) / 8 % 4 * 4, 16 + number(0, 1) / 32 * 4);
    let file = number(1, 3) >> (16 - files);
    let offset = number(3, 9) >> (48 - offsets);
    let len = number(9, 12) as u32;
    let pointer = Pointer::new(file, offset, len as usize);
    (kind, pointer.unwrap_or(Pointer::NOWHERE))
}

/// Reads a block; if nothing was changed in it, it has the entries that it was `made` of.
fn read(raw: &[u8], made: Option<&Vec<(EntryKind, Pointer)>>) {
    let sound = BlockLayout::parse(raw).and_then(|layout| layout.check(raw));
    assert!(made.is_none() || sound.is_ok(), "{sound:?}");
    let layout = BlockLayout::of_sound(raw);
    let view = BlockView::new(raw, &layout);
    for slot in 0..=view.count() {
        let pointer = view.pointer(slot);
        assert!(pointer.file < Pointer::LIMIT && pointer.offset < Pointer::LIMIT);
        let (start, len) = view.value(slot);
        assert!(sound.is_err() || slot == view.count() || start + len <= raw.len());
        if let Some((kind, expected)) = made.and_then(|made| made.get(slot)) {
            assert_eq!(view.kind(slot), *kind);
            assert!(*kind != EntryKind::Pointer || pointer == *expected);
        }
    }
}
