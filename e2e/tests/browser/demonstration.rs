//! Runs the browser tests on `drover server --demo-clusters` with a small, a large and a failing
//! cluster.

use crate::Browser;

pub(crate) async fn browser_tests_of_the_demonstration_pass(browser: &mut Browser) {
    let ran = browser
        .playwright
        .run_on_demonstration("demonstration")
        .await;
    ran.unwrap();
}
