//! Drover as programs, with agents beside the cluster: what needs no pods.

#![expect(
    clippy::unwrap_used,
    reason = "steps of a test are functions of their own, and fail as the test does"
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

/// The part of the table that needs no pods.
async fn objects_and_clients_are_as_direct(world: &mut World) {
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
            test!(journey::second_cluster_comes_and_goes_and_its_name_inherits_nothing),
            test!(objects_and_clients_are_as_direct),
            test!(revocation::deleted_token_ends_its_watch_and_is_refused),
            test!(revocation::expired_token_ends_its_watch_and_is_refused),
            test!(revocation::disabled_user_loses_watches_and_may_return_when_enabled),
            test!(revocation::deleted_user_loses_watches_for_good),
            test!(revocation::demoted_administrator_loses_watches),
            test!(accounts::account_of_the_hub_has_its_roles_there_and_nothing_elsewhere),
            test!(accounts::deleted_account_of_the_hub_loses_its_watch),
            test!(security::claims::connection_header_takes_no_impersonation_off),
            test!(security::claims::claims_of_clients_never_reach_the_cluster),
            test!(security::claims::nobody_acts_as_masters_nodes_or_accounts),
            test!(security::credentials::credentials_are_one_and_whole),
            test!(security::credentials::tokens_are_not_guessed),
            test!(security::credentials::token_of_one_cluster_is_refused_elsewhere),
            test!(security::paths::paths_lead_nowhere_else),
            test!(security::protocol::upgrade_that_is_refused_carries_no_second_request),
            test!(security::credentials::credential_in_a_web_socket_protocol_is_taken_once),
            test!(security::registration::agents_identify_as_nobody_else),
            test!(security::registration::agent_reaches_nothing_but_its_api_server),
            test!(security::protocol::malformed_and_endless_requests_harm_nobody),
            test!(security::paths::names_and_errors_carry_no_markup),
            test!(failures::requests_go_on_when_one_replica_is_gone),
            test!(failures::agents_gone_is_told_at_once_and_heals),
            test!(failures::api_server_that_is_paused_is_told_in_time),
            test!(failures::api_server_that_is_down_is_told_at_once),
            test!(failures::hub_that_is_down_leaves_the_road_open),
            test!(failures::agents_return_to_a_restarted_server),
            test!(failures::agent_that_pins_another_authority_says_so),
            test!(security::secrets::no_secret_is_written_anywhere),
        ],
        async || World::start(WorldOptions::Programs).await,
    )
}
