//! Helm 3 prints what it prints against kube-apiserver.

use crate::transcript::holds;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_installs_upgrades_rolls_back_and_uninstalls() {
    holds("helm", "release").await;
}
