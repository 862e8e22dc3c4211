//! The same cases to ours and to the Go libraries that kube-apiserver is built on
//! (`differential/`): generated from fixed seeds, thousands of each kind.

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
