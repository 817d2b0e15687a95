//! Any bytes as a document: checked, fixed, read, written, made strict.
#![no_main]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::document(data));
