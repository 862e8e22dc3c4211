//! Tests with agents that run as pods on a real node. `drover cluster import` creates the manifest
//! that installs the agents.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions of tests fail by a panic"
)]

mod client;
mod command_line;
mod drain;
mod endpoint;
mod failover;
mod gitops;
mod port_forwards;
mod replicas;
mod revocation;
mod stalled;
mod streams;
#[path = "../table/table.rs"]
mod table;
mod terminals;

use std::process::ExitCode;

use drover_e2e::{World, WorldOptions, suite, test};

/// Compares the results of all rows of the command table through Drover and with direct access.
/// Includes the rows that need pods.
async fn all_proxied_requests_match_direct_access(world: &mut World) {
    let mut rows = table::objects::rows();
    rows.extend(table::clients::rows());
    rows.extend(streams::rows());
    table::compare(world, rows, "direct-or-through.md").await;
    // The node agent registers while the next tests run.
    failover::make_control_plane(world).await;
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(replicas::agent_replicas_register_as_one_cluster_with_separate_tunnels),
            test!(replicas::requests_succeed_after_one_pod_is_deleted),
            test!(all_proxied_requests_match_direct_access),
            test!(command_line::exec_returns_output_and_exit_code_of_the_command),
            test!(command_line::exec_in_a_terminal_restores_the_mode_of_the_terminal),
            test!(command_line::followed_logs_contain_new_pods_and_restarted_containers),
            test!(command_line::ports_of_pods_services_and_deployments_are_forwarded),
            test!(revocation::deleted_token_closes_exec_logs_and_port_forward),
            test!(terminals::terminal_continues_during_a_lost_connection_and_reports_the_exit_code),
            test!(terminals::deleted_token_closes_terminal_with_the_reason),
            test!(terminals::container_with_endless_output_delays_only_its_own_terminal),
            test!(port_forwards::port_forward_reaches_only_its_pod_in_the_browser_that_opened_it),
            test!(port_forwards::service_is_forwarded_to_a_ready_pod_with_the_rights_of_the_user),
            test!(port_forwards::deleted_token_closes_port_forward),
            test!(stalled::stalled_readers_do_not_delay_other_requests),
            test!(gitops::agent_pod_renders_and_deploys_a_chart),
            test!(failover::node_agent_replaces_agent_without_pods),
            test!(failover::node_agent_replaces_partitioned_agent),
            test!(failover::node_agent_replaces_hung_agent),
            test!(failover::node_agent_replaces_agent_without_api_server),
            test!(endpoint::webhook_of_a_node_agent_pod_authenticates_only_existing_tokens),
            test!(drain::requests_continue_while_both_nodes_of_the_agent_are_drained_in_turn),
        ],
        async || World::start(WorldOptions::Node).await,
    )
}
