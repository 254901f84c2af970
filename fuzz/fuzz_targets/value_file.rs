//! Records of a value file, damaged.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb::fuzz::value_file(bytes);
});
