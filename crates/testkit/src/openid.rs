//! The certified npm package `oidc-provider` on Node, and a simulated browser.

mod browser;
mod provider;

pub use browser::Browser;
pub use provider::{Provider, Settings};

/// The client ID of Drover.
pub const CLIENT: &str = "drover";
/// The client secret, with special characters of forms and headers.
pub const SECRET: &str = "s:e/c+r e%t&=~";
