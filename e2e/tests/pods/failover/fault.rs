//! Faults of the agent.

use drover_e2e::{DroppedPackets, PausedProcesses, World, eventually};

use super::SOON;
use crate::replicas::agent;

const PROGRAM: &str = "drover-agent";
/// Number of the agent's pods.
const REPLICAS: usize = 2;

/// A fault of all pods of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The agent's pods are killed, and the agent has no new pods.
    NoPods,
    /// Packets between the agent and the server are lost. The tunnels stay half-open.
    Partition,
    /// The processes of the agent do not run. The kernel still acknowledges packets.
    Hang,
    /// Packets between the agent and the API server are lost.
    NoApiServer,
}

/// The cause of a fault. Dropping the value ends the fault, except [`Cause::NoPods`].
pub(super) enum Cause {
    NoPods,
    Packets(DroppedPackets),
    Processes(PausedProcesses),
}

impl Fault {
    /// Returns the name of the fault, for names of pods.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NoPods => "no-pods",
            Self::Partition => "partition",
            Self::Hang => "hang",
            Self::NoApiServer => "no-api-server",
        }
    }

    /// Returns the reason of the switch to the node agent.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::NoPods => "TunnelClosed",
            Self::Partition | Self::Hang => "AgentSilent",
            Self::NoApiServer => "APIServerUnreachable",
        }
    }

    /// Returns true if the fault can close streams that are open through the agent.
    pub(super) const fn closes_streams(self) -> bool {
        // After a short partition, the tunnel is open again if TCP sends the lost packets again before
        // the server closes the tunnel.
        matches!(self, Self::NoPods | Self::Partition)
    }

    /// Causes the fault.
    pub(super) async fn begin(self, world: &World) -> Cause {
        let node = world.east.node.as_ref().unwrap();
        match self {
            Self::NoPods => {
                agent(world, "scale deployment/drover-agent --replicas=0").await;
                let deletions = "get pods -o jsonpath={.items[*].metadata.deletionTimestamp}";
                eventually("the deletion of the agent's pods", SOON, async || {
                    let deletions = agent(world, deletions).await;
                    let count = deletions.split_whitespace().count();
                    (count == REPLICAS).then_some(()).ok_or(deletions)
                })
                .await
                .unwrap();
                // Without this, the agent would wait for the end of its open streams.
                node.kill_processes(PROGRAM).unwrap();
                Cause::NoPods
            }
            Self::Partition => {
                let server = world.server.address().port();
                Cause::Packets(node.drop_packets_of_pods(server).unwrap())
            }
            Self::Hang => {
                let paused = node.pause_processes(PROGRAM).await.unwrap();
                assert_eq!(paused.count(), REPLICAS);
                Cause::Processes(paused)
            }
            Self::NoApiServer => {
                let api_server = world.east.cluster.api_address().port();
                Cause::Packets(node.drop_packets_of_pods(api_server).unwrap())
            }
        }
    }
}

impl Cause {
    /// Ends the fault.
    pub(super) async fn end(self, world: &World) {
        match self {
            Self::NoPods => {
                let scale = format!("scale deployment/drover-agent --replicas={REPLICAS}");
                agent(world, &scale).await;
            }
            Self::Packets(guard) => drop(guard),
            Self::Processes(guard) => drop(guard),
        }
    }
}
