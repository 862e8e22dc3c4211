//! The commands for the user's own tokens and saved views.

pub(super) mod tokens;
pub(super) mod views;
