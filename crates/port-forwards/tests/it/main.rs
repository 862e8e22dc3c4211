//! Tests through the public API of the crate.

#[cfg(test)]
mod properties;

#[cfg(test)]
#[path = "../../fuzz/properties.rs"]
mod fuzz_properties;
