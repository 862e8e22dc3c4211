//! Who may do what in a managed cluster, and on the hub.
//!
//! What has to be there follows from the [`Grants`](drover_access::grants::Grants): for each part of
//! each role that somebody has, a ClusterRole and bindings, in the whole cluster or in a project's
//! namespaces; and the names that the user lane's service account may take. [`wanted`] says which
//! objects that are, [`differ`] what is to be done about those that are there, [`act`] does it, and
//! [`keep`] knows when.
//!
//! Objects are named by the role's UID, and each set of names or people is cut into chunks, because
//! an object has a bounded size. What carries
//! [`ACCESS_LABEL`](drover_api::group::ACCESS_LABEL) is Drover's to change and to delete,
//! and nothing else is.

pub mod act;
pub mod differ;
pub(super) mod keep;
pub mod wanted;

/// People in one chunk.
pub const CHUNK: usize = 1000;
/// Label of the same on the hub, which may be a managed cluster as well.
pub const HUB_LABEL: &str = "management.drover.dev/hub-access";

/// ClusterRole, and its binding, with the `n`th chunk of names that the user lane may take.
pub fn user_lane_name(n: usize) -> String {
    format!("drover-user-{n}")
}
