//! Damaged and foreign bytes as a key map.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::key_map_bytes(bytes);
});
