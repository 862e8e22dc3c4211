//! Routes for users, and for the identities and tokens of users.

pub(crate) mod identities;
pub(crate) mod people;
pub(crate) mod tokens;
pub(crate) mod users;
