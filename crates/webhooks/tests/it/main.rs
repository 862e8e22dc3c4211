//! Tests through the public API of the crate.

#[cfg(test)]
mod deliveries;
#[cfg(test)]
mod signatures;
#[cfg(test)]
mod urls;

#[cfg(test)]
#[path = "../../fuzz/properties.rs"]
mod properties;
