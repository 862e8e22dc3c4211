//! The screens of the signed-in user: sign-in, password, tokens, logins of the command line.

pub(crate) mod device;
pub(crate) mod password;
pub(crate) mod sign_in;
pub(crate) mod tokens;
