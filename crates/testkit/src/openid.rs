//! Runs the certified npm package `oidc-provider` on Node, and simulates a browser.

mod browser;
mod provider;

pub use browser::Browser;
pub use provider::{Provider, Settings};

/// Drover's client ID at the test provider.
pub const CLIENT: &str = "drover";
/// Drover's client secret. Contains characters that forms and headers must escape.
pub const SECRET: &str = "s:e/c+r e%t&=~";
