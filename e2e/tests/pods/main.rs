//! Drover as users run it: agents as pods on a real node, installed by the manifest alone.

#![expect(
    clippy::unwrap_used,
    reason = "steps of a test are functions of their own, and fail as the test does"
)]

mod replicas;
mod revocation;
mod stalled;
mod streams;
#[path = "../table/table.rs"]
mod table;

use std::process::ExitCode;

use drover_e2e::{World, WorldOptions, suite, test};

/// The whole table.
async fn everything_is_as_direct(world: &mut World) {
    let mut rows = table::objects::rows();
    rows.extend(table::clients::rows());
    rows.extend(streams::rows());
    table::compare(world, rows, "direct-or-through.md").await;
}

fn main() -> ExitCode {
    suite::main(
        &[
            test!(replicas::both_register_as_one_cluster_and_hold_a_tunnel_each),
            test!(everything_is_as_direct),
            test!(revocation::deleted_token_ends_exec_logs_and_port_forward),
            test!(stalled::readers_that_never_read_keep_nobody_waiting),
            test!(replicas::requests_go_on_when_one_pod_is_deleted),
        ],
        async || World::start(WorldOptions::Node).await,
    )
}
