//! Tests of Drover's programs with real API servers on this machine, without pods.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod accounts;
mod failures;
mod gitops;
mod revocation;
mod security;
#[path = "../table/table.rs"]
mod table;
mod wire;
mod workflow;

use std::process::ExitCode;

use drover_e2e::{World, WorldOptions, suite, test};

/// Runs the comparison rows that need no pods, directly and through Drover, and compares the
/// output.
async fn proxied_objects_and_clients_match_direct_access(world: &mut World) {
    let mut rows = table::objects::rows();
    rows.extend(table::clients::rows());
    table::compare(world, rows, "direct-or-through-without-pods.md").await;
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(workflow::first_password_is_printed_once_and_must_be_changed),
            test!(workflow::kubeconfigs_with_token_and_with_exec_plugin_access_the_cluster),
            test!(workflow::tokens_are_listed_without_secrets_and_can_be_deleted),
            test!(workflow::token_of_a_deleted_cluster_is_invalid_after_its_recreation),
            test!(proxied_objects_and_clients_match_direct_access),
            test!(revocation::deleted_token_closes_its_watch_and_is_rejected),
            test!(revocation::expired_token_closes_its_watch_and_is_rejected),
            test!(revocation::disabling_a_user_closes_watches_and_enabling_restores_access),
            test!(revocation::deletion_of_a_user_closes_watches_and_permanently_removes_access),
            test!(revocation::demoted_administrator_loses_open_watches_and_cluster_bindings),
            test!(accounts::roles_of_a_hub_service_account_apply_only_on_the_hub),
            test!(accounts::deletion_of_a_hub_service_account_closes_its_watch),
            test!(security::claims::connection_header_cannot_remove_impersonation_headers),
            test!(security::claims::identity_headers_of_clients_are_not_forwarded_to_the_cluster),
            test!(security::claims::masters_nodes_and_service_accounts_cannot_be_impersonated),
            test!(security::credentials::missing_duplicate_and_malformed_credentials_are_rejected),
            test!(security::credentials::guessed_tokens_are_rejected),
            test!(security::credentials::token_of_one_cluster_is_rejected_by_other_clusters_and_the_rest_api),
            test!(security::paths::manipulated_paths_cannot_reach_a_different_cluster),
            test!(security::protocol::bytes_after_a_rejected_upgrade_are_not_forwarded_as_a_second_request),
            test!(security::credentials::token_in_websocket_subprotocol_header_is_not_forwarded_to_the_cluster),
            test!(security::registration::agent_cannot_register_as_a_different_cluster),
            test!(security::registration::agent_connects_to_its_api_server_only),
            test!(security::protocol::malformed_and_endless_requests_are_rejected),
            test!(security::paths::names_and_errors_contain_no_markup),
            test!(failures::requests_succeed_after_one_replica_failed),
            test!(failures::cluster_without_agents_returns_503_immediately_until_agents_restart),
            test!(failures::paused_api_server_is_reported_within_the_timeout),
            test!(failures::stopped_api_server_is_reported_immediately),
            test!(failures::proxy_forwards_requests_while_the_hub_is_down),
            test!(failures::agents_reconnect_to_a_restarted_server),
            test!(gitops::bundle_is_deployed_completely_after_programs_are_killed),
            test!(failures::agent_with_wrong_certificate_authority_reports_the_tls_error),
            test!(security::secrets::logs_and_metrics_contain_no_secrets),
        ],
        async || World::start(WorldOptions::Programs).await,
    )
}
