//! Installs both charts with Helm on a real node. The charts use the built container images.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod going;
mod images;
mod rights;
mod stage;
mod staying;

use std::process::ExitCode;

use drover_e2e::{suite, test};
use stage::Installed;

fn main() -> ExitCode {
    suite::main(
        &[
            test!(staying::kubectl_accesses_a_cluster_through_the_installed_charts),
            test!(images::server_image_contains_the_agent),
            test!(images::docker_and_oci_tools_load_the_image_archives),
            test!(staying::chart_upgrade_preserves_clusters_users_and_tokens),
            test!(rights::server_needs_exactly_the_permissions_of_its_chart),
            test!(staying::installed_server_can_fetch_charts),
            test!(going::uninstallation_preserves_the_documented_objects_for_a_new_installation),
        ],
        Installed::start,
    )
}
