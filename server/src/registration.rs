//! How clusters become members and connect.

pub mod manifest;
