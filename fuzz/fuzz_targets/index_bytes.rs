//! Damaged and foreign bytes as an index of any kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::index_bytes(bytes);
});
