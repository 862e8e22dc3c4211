//! Deploys bundles in an embedded Kubernetes API, with the real renderer.
//!
//! The tests need the program `drover-render`: `cargo run -p xtask -- renderer`.

#[cfg(test)]
mod bundles;
#[cfg(test)]
mod charts;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod force;
#[cfg(test)]
mod forged;
#[cfg(test)]
mod removal;
#[cfg(test)]
mod rendering;
#[cfg(test)]
mod tenants;
