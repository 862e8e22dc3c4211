//! Users, their identities and tokens.

pub(crate) mod identities;
pub(crate) mod people;
pub(crate) mod tokens;
pub(crate) mod users;
