//! Who may do what in a managed cluster, until roles come: its administrators, everything.
//!
//! Two sets of objects follow from the people: bindings of their `drover:` names to
//! `cluster-admin`, and the names that the user lane's service account may impersonate. Both are
//! cut into chunks, because an object has a bounded size and names are many.

pub mod act;
pub mod decide;
pub(super) mod keep;

/// Chunks that exist at most; the manifest names each, so that nothing else can be written.
pub const CHUNKS: usize = 16;
/// People in one chunk.
pub const CHUNK: usize = 1000;
/// Label that says which kind of chunk an object is; what carries it is Drover's to prune.
pub const PART_LABEL: &str = "management.drover.dev/access";

/// ClusterRole, and its binding, with the `n`th chunk of names that the user lane may take.
pub fn user_lane_name(n: usize) -> String {
    format!("drover-user-{n}")
}

/// ClusterRoleBinding of the `n`th chunk of administrators.
pub fn administrators_name(n: usize) -> String {
    format!("drover-administrators-{n}")
}

/// Every name that chunks of one kind can have.
pub fn chunk_names(name: fn(usize) -> String) -> Vec<String> {
    (0..CHUNKS).map(name).collect()
}
