//! Tests through the public API of the crate.

#[cfg(test)]
mod access;
#[cfg(test)]
mod controller;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod helm;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod kubectl;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod served;
#[cfg(test)]
mod store;
#[cfg(test)]
mod transcript;
#[cfg(test)]
mod watches;
