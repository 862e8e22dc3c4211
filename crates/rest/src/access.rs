//! Routes for roles, members, and explanations of permissions.

pub(crate) mod explain;
pub(crate) mod global_members;
pub(crate) mod global_roles;
pub(crate) mod members;
pub(crate) mod role_views;
pub(crate) mod roles;
pub(crate) mod stored_role;
pub(crate) mod user_rights;
