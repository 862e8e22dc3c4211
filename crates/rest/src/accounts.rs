//! Routes for users, and for the identities, tokens, preferences and saved views of users.

pub(crate) mod identities;
pub(crate) mod people;
pub(crate) mod preferences;
pub(crate) mod tokens;
pub(crate) mod users;
pub(crate) mod views;
