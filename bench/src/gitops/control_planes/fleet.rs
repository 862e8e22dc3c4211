//! Fleet's own controllers and agents, which `xtask compat-fleet` builds.

use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::{
    CommandError, FleetAgent, FleetHub, FleetHubOptions, FleetPrograms, MissingFleet, StartError,
    WorldError,
};
use serde_json::json;

use super::super::hub::BundleApi;
use super::super::requests::Requests;
use super::member::Member;
use crate::figures::target_folder;

/// Name of the registration token.
const TOKEN: &str = "bench";
/// Prefix of the names of the users of agents on the hub.
const AGENTS: &str = "system:serviceaccount:cluster-fleet-default-";

/// The reason why Fleet cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// Fleet's programs have not been built.
    #[error(transparent)]
    Missing(#[from] MissingFleet),
    /// The hub or an agent failed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A control plane failed.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A hub with Fleet's controllers.
pub(super) struct Fleet {
    programs: FleetPrograms,
    hub: FleetHub,
}

impl Fleet {
    pub(super) async fn start() -> Result<Self, FleetError> {
        let programs = FleetPrograms::find(&target_folder())?;
        let options = FleetHubOptions {
            audit: true,
            // The bundles with Fleet's own agent would be part of the figures.
            manages_agents: false,
        };
        let hub = FleetHub::start(&programs, options).await?;
        Ok(Self { programs, hub })
    }

    pub(super) fn bundles(&self) -> BundleApi {
        BundleApi::new(self.hub.cluster.client())
    }

    /// Starts a control plane, and registers Fleet's agent for it.
    pub(super) async fn join(&self, name: &str) -> Result<Member, FleetError> {
        // A registration uses the Fleet Cluster with its client ID. Otherwise, Fleet chooses the name.
        let object = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
            "metadata": { "name": name, "namespace": FLEET_NAMESPACE },
            "spec": { "clientID": name },
        });
        let apply = self.hub.cluster.command_line();
        let apply = apply.with_stdin(object.to_string());
        apply.run(["apply", "--filename", "-"]).await?;
        let cluster = Member::control_plane(name).await?;
        let values = self.hub.registration(TOKEN).await?;
        values.install(&cluster, name, &json!({})).await?;
        let agent = FleetAgent::start(&self.programs, &cluster).await?;
        Ok(Member::of_fleet(agent, cluster))
    }

    /// Returns the numbers of requests of the controllers and agents since their start.
    pub(super) fn requests(&self) -> Result<Requests, FleetError> {
        let events = self.hub.cluster.audit_events()?;
        Ok(Requests::of_users(events, |user| {
            user == FleetHub::user_of_controllers() || user.starts_with(AGENTS)
        }))
    }
}
