#![no_main]

#[path = "../edge.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod edge;

libfuzzer_sys::fuzz_target!(|data: &[u8]| edge::path(data));
