//! Runs the browser tests on `drover server --demo-clusters`, with one cluster of each kind.

use crate::Browser;

pub(crate) async fn browser_tests_of_the_demonstration_pass(browser: &mut Browser) {
    let ran = browser
        .playwright
        .run_on_demonstration("demonstration")
        .await;
    ran.unwrap();
}
