//! Damaged forms of the B+-tree: the first bytes choose keys and knobs, the others are edits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::kind_bytes("btree", bytes);
});
