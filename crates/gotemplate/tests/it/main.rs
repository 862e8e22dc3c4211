//! Tests of the public interface.

mod golden;
mod limits;
mod properties;

#[path = "../../fuzz/properties.rs"]
mod fuzz_properties;
