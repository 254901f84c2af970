//! Any keys under any kind, every window checked.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb_index::check::fuzz::keys(bytes);
});
