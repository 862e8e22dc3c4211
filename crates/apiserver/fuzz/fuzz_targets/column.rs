#![no_main]

#[path = "../kinds.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod kinds;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinds::column(data));
