//! The web UI in a real browser, on the demonstration and on a real cluster. What people do is
//! written in TypeScript (`e2e/browser`); this starts the worlds, and ends them.

#![expect(
    clippy::unwrap_used,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod demonstration;
mod road;

use std::process::ExitCode;

use drover_e2e::suite::{self, Stage};
use drover_e2e::world::target_of_tests;
use drover_e2e::{BrowserError, Playwright, test};

/// The browser; each test starts its own world.
struct Browser {
    playwright: Playwright,
}

impl Stage for Browser {
    fn story(&self) -> String {
        let results = self.playwright.results().display();
        format!("pictures of what was seen last lie in {results}/browser")
    }
}

impl Browser {
    async fn start() -> Result<Self, BrowserError> {
        let results = target_of_tests().join("e2e");
        let playwright = Playwright::prepare(&results).await?;
        Ok(Self { playwright })
    }
}

async fn the_browser_tests_are_sound(browser: &mut Browser) {
    browser.playwright.check_types().await.unwrap();
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(the_browser_tests_are_sound),
            test!(demonstration::every_screen_is_as_it_should_be),
            test!(road::a_newcomer_brings_a_cluster_uses_it_and_lets_it_go),
        ],
        async || Browser::start().await,
    )
}
