//! Runs the browser tests on `drover server --demo-clusters`, with one cluster of each kind.

use crate::Browser;

pub(crate) async fn demonstration_screens_pass_their_tests(browser: &mut Browser) {
    let ran = browser
        .playwright
        .run_on_demonstration("demonstration")
        .await;
    ran.unwrap();
}
