//! Tests with Drover's programs on this machine, without pods.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod accounts;
mod failures;
mod journey;
mod revocation;
mod security;
#[path = "../table/table.rs"]
mod table;
mod wire;

use std::process::ExitCode;

use drover_e2e::{World, WorldOptions, suite, test};

/// Runs the comparison rows that need no pods, directly and through Drover, and compares the
/// output.
async fn objects_and_clients_match_direct_access(world: &mut World) {
    let mut rows = table::objects::rows();
    rows.extend(table::clients::rows());
    table::compare(world, rows, "direct-or-through-without-pods.md").await;
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(journey::first_password_is_printed_once_and_must_be_changed),
            test!(journey::both_kinds_of_kubeconfig_reach_the_cluster),
            test!(journey::tokens_are_listed_without_secrets_and_deleted),
            test!(journey::second_cluster_with_the_same_name_inherits_nothing),
            test!(objects_and_clients_match_direct_access),
            test!(revocation::deleted_token_ends_its_watch_and_is_rejected),
            test!(revocation::expired_token_ends_its_watch_and_is_rejected),
            test!(revocation::disabled_user_loses_watches_until_enabled_again),
            test!(revocation::deleted_user_loses_watches_permanently),
            test!(revocation::demoted_administrator_loses_watches),
            test!(accounts::hub_service_account_has_its_roles_on_the_hub_only),
            test!(accounts::deleted_hub_service_account_loses_its_watch),
            test!(security::claims::connection_header_cannot_remove_impersonation_headers),
            test!(security::claims::identity_headers_of_clients_never_reach_the_cluster),
            test!(security::claims::masters_nodes_and_service_accounts_cannot_be_impersonated),
            test!(security::credentials::missing_duplicate_and_malformed_credentials_are_rejected),
            test!(security::credentials::guessed_tokens_are_rejected),
            test!(security::credentials::token_of_one_cluster_is_rejected_elsewhere),
            test!(security::paths::paths_cannot_leave_the_cluster),
            test!(security::protocol::rejected_upgrade_carries_no_second_request),
            test!(security::credentials::credential_in_a_web_socket_protocol_is_removed),
            test!(security::registration::agents_cannot_use_another_identity),
            test!(security::registration::agent_connects_to_its_api_server_only),
            test!(security::protocol::malformed_and_endless_requests_are_rejected),
            test!(security::paths::names_and_errors_contain_no_markup),
            test!(failures::requests_succeed_after_one_replica_failed),
            test!(failures::missing_agents_are_reported_immediately_and_recover),
            test!(failures::paused_api_server_is_reported_within_the_timeout),
            test!(failures::stopped_api_server_is_reported_immediately),
            test!(failures::proxy_works_while_the_hub_is_down),
            test!(failures::agents_reconnect_to_a_restarted_server),
            test!(failures::agent_with_another_pinned_authority_reports_it),
            test!(security::secrets::logs_and_metrics_contain_no_secrets),
        ],
        async || World::start(WorldOptions::Programs).await,
    )
}
