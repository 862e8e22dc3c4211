//! The screens of the user's account: sign-in, password, tokens, and approval of CLI logins.

pub(crate) mod device;
pub(crate) mod forwards;
pub(crate) mod password;
pub(crate) mod sign_in;
pub(crate) mod tokens;
