//! Deploys bundles in a cluster: renders charts, kustomizations and plain YAML, applies the objects,
//! and reports their state.
//!
//! [`Deployer`](deployment::Deployer) is the entry point. A deployment has these steps:
//!
//! 1. [`source`] decides what the files of a bundle are, and [`renderer`] renders them with the
//!    program `drover-render`.
//! 2. [`hooks`] runs Helm's hooks before and after the changes.
//! 3. [`apply`] writes the objects by server-side apply, and deletes the objects that the previous
//!    release had and the new release has not.
//! 4. [`release`] stores a release record that Helm's command line can read, with a [`signature`].
//! 5. [`readiness`] and [`drift`] compare the objects in the cluster with the release.
//!
//! `drift`, `names`, `object`, `readiness`, `record`, `source` and `values` have no side effects. The other
//! modules call the cluster through a [`kube::Client`] or start the renderer, with a timeout for each
//! call.

pub mod apply;
pub mod cluster;
pub mod deployment;
pub mod drift;
pub mod hooks;
pub mod names;
pub mod object;
pub mod readiness;
pub mod record;
pub mod release;
pub mod renderer;
pub mod signature;
pub mod source;
pub mod values;
pub mod watch;
