//! `drover server --demo-clusters` with one cluster of each kind.

use drover_e2e::{DemoOptions, DemoServer, Tool};

use crate::Browser;

/// Small, large and troubled.
const CLUSTERS: u32 = 3;

pub(crate) async fn every_screen_is_as_it_should_be(browser: &mut Browser) {
    let folder = tempfile::tempdir().unwrap();
    let server = DemoServer::start(DemoOptions {
        folder: folder.path().to_owned(),
        port: None,
        clusters: CLUSTERS,
    })
    .await
    .unwrap();
    let password = server.log_in().await.unwrap();
    let wanted = usize::try_from(CLUSTERS).unwrap();
    server.wait_for_clusters(wanted).await.unwrap();
    let kubectl = Tool::Kubectl.locate().await.unwrap();
    let told = server.told_to_browser(&password, &kubectl);
    browser.playwright.run("demonstration", told).await.unwrap();
    server.stop().await.unwrap();
}
