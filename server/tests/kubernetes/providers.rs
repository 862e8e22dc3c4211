//! Tests of sign-in with identity providers: the certified npm package `oidc-provider`, Debian's
//! slapd, and a fake of GitHub.

mod directory;
mod github;
mod link;
mod managed;
mod openid;
mod refresh;
mod rig;
mod sign_out;
