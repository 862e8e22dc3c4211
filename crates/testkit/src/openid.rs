//! The certified `oidc-provider` of npm, on Node, and a browser that signs people in there.

mod browser;
mod provider;

pub use browser::Browser;
pub use provider::{Provider, Settings};

/// As which Drover is known there.
pub const CLIENT: &str = "drover";
/// Full of characters that mean something in a form, a header or both.
pub const SECRET: &str = "s:e/c+r e%t&=~";
