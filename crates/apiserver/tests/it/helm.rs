//! Checks that the output of Helm 3 is the same as with kube-apiserver.

use crate::transcript::check_transcript;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helm_install_upgrade_rollback_and_uninstall_output_matches_kube_apiserver() {
    check_transcript("helm", "release").await;
}
