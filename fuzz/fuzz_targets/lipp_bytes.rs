//! Damaged forms of LIPP: the first bytes choose keys and knobs, the others are edits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::kind_bytes("lipp", bytes);
});
