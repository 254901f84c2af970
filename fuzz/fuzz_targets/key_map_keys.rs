//! Maps of any keys, and their unions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::key_map_keys(bytes);
});
