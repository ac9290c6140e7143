//! See `redial_tests::fuzz_targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| redial_tests::fuzz_targets::schedule(data));
