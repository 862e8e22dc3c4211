//! The access that roles grant in a managed cluster and on the hub.
//!
//! The [`Grants`](drover_access::grants::Grants) determine the objects: a ClusterRole and bindings
//! for each scope of each granted role, in the cluster or in a project's namespaces, and the names
//! that the user lane's service account may impersonate. [`desired`] computes the objects, [`plan`]
//! computes the ordered changes, and [`act`] applies the changes. [`reconciler`] decides when to
//! apply.
//!
//! Object names contain the role's UID. Sets of names and subjects are split into chunks because
//! the size of an object is limited. The server changes and deletes only objects with
//! [`ACCESS_LABEL`](drover_api::group::ACCESS_LABEL).

pub(crate) mod act;
pub(crate) mod desired;
mod plan;
pub(super) mod reconciler;
pub(crate) mod unmanaged;

/// Approximate maximum number of subjects in one object.
pub(crate) const CHUNK: usize = 1000;
// Objects on the hub have a separate label, because the hub's cluster may be a managed cluster too.
pub(crate) use drover_access::admission::HUB_LABEL;

/// Prefix of the names of the user lane's roles.
const USER_LANE: &str = "drover-user-";

/// Name of the ClusterRole and ClusterRoleBinding with the `n`th chunk of the names that the user
/// lane may impersonate.
pub(crate) fn user_lane_name(n: usize) -> String {
    format!("{USER_LANE}{n}")
}

/// Reports whether a ClusterRole or ClusterRoleBinding belongs to the user lane.
fn is_user_lane(name: &str) -> bool {
    let n = name.strip_prefix(USER_LANE).unwrap_or_default();
    !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit())
}
