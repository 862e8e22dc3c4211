//! Runs tests of the web UI in a real browser. The UI shows simulated clusters and a real cluster.
//!
//! The tests are written in TypeScript (`e2e/browser`). This program starts and stops the
//! environments of the tests.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod demonstration;
mod object_actions;
mod real_cluster;

use std::process::ExitCode;

use drover_e2e::suite::{self, Stage};
use drover_e2e::world::target_of_tests;
use drover_e2e::{BrowserError, Playwright, test};

/// The folder of the browser tests. Each test starts a separate environment.
struct Browser {
    playwright: Playwright,
}

impl Stage for Browser {
    fn story(&self) -> String {
        let results = self.playwright.results().display();
        format!("screenshots of failures are in {results}/browser")
    }
}

impl Browser {
    async fn start() -> Result<Self, BrowserError> {
        let results = target_of_tests().join("e2e");
        let playwright = Playwright::prepare(&results).await?;
        Ok(Self { playwright })
    }
}

async fn browser_tests_pass_the_type_check(browser: &mut Browser) {
    browser.playwright.check_types().await.unwrap();
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(browser_tests_pass_the_type_check),
            test!(demonstration::browser_tests_of_the_demonstration_pass),
            test!(object_actions::objects_change_in_the_cluster),
            test!(real_cluster::new_user_can_import_use_and_delete_a_cluster_in_the_ui),
        ],
        async || Browser::start().await,
    )
}
