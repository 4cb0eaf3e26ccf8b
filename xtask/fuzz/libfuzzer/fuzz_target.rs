//! The entry point of every target, built once under the name of each.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run(env!("CARGO_BIN_NAME"), bytes));
