//! Blocks with pointers to values, damaged.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rhumb::fuzz::pointer_block(bytes);
});
