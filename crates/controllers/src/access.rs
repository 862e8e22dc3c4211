//! Applies the access that roles grant. Creates RBAC objects in managed clusters and on the hub.
//!
//! [`desired`] computes the objects from the [`Grants`](drover_access::grants::Grants). Each role
//! that is granted in a scope has a ClusterRole with bindings in the cluster or in a project's
//! namespaces. Separate ClusterRoles list the names that the user lane's service account may
//! impersonate. [`plan`] computes the ordered changes. [`act`] applies the changes. [`reconciler`]
//! decides when to apply the changes.
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

/// Returns the name of the ClusterRole and of the ClusterRoleBinding for the `n`th chunk of names.
/// The user lane may impersonate the names of the chunk.
pub(crate) fn user_lane_name(n: usize) -> String {
    format!("{USER_LANE}{n}")
}

/// Reports whether `name` is the name of a user lane object, such as `drover-user-0`.
fn is_user_lane(name: &str) -> bool {
    let n = name.strip_prefix(USER_LANE).unwrap_or_default();
    !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit())
}
