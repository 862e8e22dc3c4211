//! `drover server --demo-clusters` with one cluster of each kind.

use crate::Browser;

pub(crate) async fn every_screen_is_as_it_should_be(browser: &mut Browser) {
    let ran = browser
        .playwright
        .run_on_demonstration("demonstration")
        .await;
    ran.unwrap();
}
