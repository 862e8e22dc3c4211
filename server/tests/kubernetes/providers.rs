//! People who sign in with identity providers: the certified one of npm, and Debian's slapd.

mod directory;
mod managed;
mod openid;
mod refresh;
mod rig;
