//! Limits of a reconciliation.

/// Maximum number of objects of one kind in an inventory. Users of the cluster can add the owner's
/// label to other objects.
pub const MAX_OBJECTS: usize = 20_000;
