//! Compares the crate with the Go libraries of kube-apiserver (`differential/`): thousands of
//! generated cases of each type, with fixed seeds.

mod limits;
mod owners;
mod patches;
mod random;
mod reference;
mod scale;
mod schemas;
mod selectors;
mod sets;
mod strategic;
