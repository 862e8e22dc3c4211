//! The type of hot paths.

/// A prepared hot path. Each call does the same work.
pub(crate) type Work = Box<dyn FnMut()>;
