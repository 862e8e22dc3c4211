//! The tunnel's two ends against each other, and each against a hostile other.

mod agent;
mod requests;
