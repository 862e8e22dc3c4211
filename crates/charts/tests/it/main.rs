//! Tests with the real program `drover-render`, and with local servers.
//!
//! The tests need the program `drover-render`: `cargo run -p xtask -- renderer`.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod archive;
mod downloads;
mod registries;
mod repositories;
mod site;

use std::time::Duration;

use drover_charts::{ChartSettings, Charts, Credential};

/// Returns a fetcher with the program in the target folder.
fn fetcher() -> Charts {
    fetcher_with_timeout(Duration::from_mins(1))
}

fn fetcher_with_timeout(timeout: Duration) -> Charts {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("drover-render");
    assert!(program.exists(), "run: cargo run -p xtask -- renderer");
    let folder = std::env::temp_dir().join("drover-charts-tests");
    Charts::new(ChartSettings {
        timeout,
        ..ChartSettings::new(program, folder)
    })
}

fn credential() -> Credential {
    Credential {
        username: "u".to_owned(),
        password: "secret".into(),
    }
}

/// Returns the header `Authorization` of the credential.
fn basic() -> String {
    "Basic dTpzZWNyZXQ=".to_owned()
}
