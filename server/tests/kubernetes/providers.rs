//! People who sign in with identity providers: the certified one of npm, Debian's slapd, and a
//! faithful fake of GitHub.

mod directory;
mod github;
mod link;
mod managed;
mod openid;
mod refresh;
mod rig;
mod sign_out;
