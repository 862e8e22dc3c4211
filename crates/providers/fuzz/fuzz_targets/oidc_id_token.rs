#![no_main]

#[path = "../properties/oidc.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod oidc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| oidc::id_token(data));
