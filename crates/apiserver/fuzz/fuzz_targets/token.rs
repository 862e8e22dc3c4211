#![no_main]

#[path = "../access.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod access;

libfuzzer_sys::fuzz_target!(|data: &[u8]| access::token(data));
