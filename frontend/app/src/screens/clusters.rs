//! The screens of clusters and of Kubernetes objects.

pub(crate) mod bulk;
pub(crate) mod cluster;
pub(crate) mod home;
pub(crate) mod import;
pub(crate) mod kinds;
pub(crate) mod labels;
pub(crate) mod object;
pub(crate) mod problems;
