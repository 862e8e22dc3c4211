//! Builders and harness parts that only tests use.

pub mod tunnel;
