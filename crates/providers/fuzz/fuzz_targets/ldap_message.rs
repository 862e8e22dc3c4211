#![no_main]

#[path = "../properties/ldap.rs"]
#[expect(dead_code, reason = "each target uses one property")]
mod ldap;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ldap::message(data));
