#![no_main]

#[path = "../properties/github.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod github;

libfuzzer_sys::fuzz_target!(|data: &[u8]| github::link(data));
