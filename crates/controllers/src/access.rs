//! Who may do what in a managed cluster, and on the hub.
//!
//! What has to be there follows from the [`Grants`](drover_access::grants::Grants): for each part of
//! each role that somebody has, a ClusterRole and bindings, in the whole cluster or in a project's
//! namespaces; and the names that the user lane's service account may take. [`wanted`] says which
//! objects that are, [`compare`] when two mean the same, `steps` what is to be done and in which order,
//! [`act`] does it, and `keep` knows when.
//!
//! Objects are named by the role's UID, and each set of names or people is cut into chunks, because
//! an object has a bounded size. What carries
//! [`ACCESS_LABEL`](drover_api::group::ACCESS_LABEL) is Drover's to change and to delete,
//! and nothing else is.

pub(crate) mod act;
pub(crate) mod foreign;
pub(super) mod reconciler;
mod steps;
pub(crate) mod wanted;

/// About so many people are in one object.
pub(crate) const CHUNK: usize = 1000;
// What is on the hub has a label of its own: it may be a managed cluster as well.
pub(crate) use drover_access::admission::HUB_LABEL;

/// What the names of the user lane's roles begin with.
const USER_LANE: &str = "drover-user-";

/// ClusterRole, and its binding, with the `n`th part of the names that the user lane may take.
pub(crate) fn user_lane_name(n: usize) -> String {
    format!("{USER_LANE}{n}")
}

/// Whether an object of Drover's is one of these.
fn is_user_lane(name: &str) -> bool {
    let n = name.strip_prefix(USER_LANE).unwrap_or_default();
    !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit())
}
