//! Fleet's own agent registers at Drover's hub, and deploys bundles.

use drover_e2e::{
    ControlPlane, FleetAgent, FleetPrograms, Options, RegistrationValues, World, WorldOptions,
};
use serde_json::json;

use super::CompatError;
use super::bundles::LABEL;
use super::check::Check;
use crate::print::print_line;

pub(super) async fn check(programs: &FleetPrograms) -> Result<(), CompatError> {
    print_line("checking Fleet's agent at Drover's hub");
    let world = World::start(WorldOptions::Programs).await?;
    let cluster = ControlPlane::start(Options {
        name: "fleet".to_owned(),
        ..Options::default()
    })
    .await?;
    let values = RegistrationValues::create(&world.hub.command_line(), "compat").await?;
    let labels = json!({ LABEL: "true" });
    values.install(&cluster, "compat-client", &labels).await?;
    let agent = FleetAgent::start(programs, &cluster).await?;
    let check = Check {
        hub: world.hub.command_line(),
        cluster: &cluster,
        log: &|| agent.log_tail(),
    };
    check.until_checked_in().await?;
    check.deploy().await?;
    check.change().await?;
    check.delete(&["plain", "chart"]).await
}
