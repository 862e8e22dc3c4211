//! Replaces the keys of the cluster's agent and of node agents, and closes tunnels whose key is no longer
//! valid.

use std::time::Duration;

use drover_agent_gateway::registration::KEY_CHANGE_TIME;
use drover_agent_gateway::registration::rotation::{self, RotationError};
use drover_agent_gateway::tunnels::{AttachedAgent, BoundKey, SelectedTunnel, TunnelSource};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, KeyRotationSpec};
use drover_reconcile::{Action, Attempt, Reconciler};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::Controllers;
use super::managed::ManagedCluster;

/// Interval at which the server asks an agent again to use its new key.
const USE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time between two checks of the age of the keys.
const INTERVAL: Duration = Duration::from_hours(1);

/// The reconciler that replaces keys.
pub(super) struct AgentKeys(pub(super) Controllers);

impl Reconciler for AgentKeys {
    type Key = ClusterUid;
    type Error = RotationError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, RotationError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(reconcile(&cluster));
        let reconciled = reconciling.await;
        reconciled.unwrap_or(Ok(Action::await_change()))
    }
}

async fn reconcile(managed: &ManagedCluster) -> Result<Action, RotationError> {
    let Some(cluster) = managed.object() else {
        return Ok(Action::await_change());
    };
    let now = Timestamp::now();
    close_invalid(managed, &cluster, now);
    let mut agents: Vec<(TunnelSource, Vec<(AttachedAgent, SelectedTunnel)>)> = Vec::new();
    for (agent, tunnel) in managed.controllers.tunnels.select_healthy(&managed.uid) {
        if !is_valid(&agent, &cluster, now) {
            continue;
        }
        match agents
            .iter_mut()
            .find(|(source, _)| *source == agent.source)
        {
            Some((_, tunnels)) => tunnels.push((agent, tunnel)),
            None => agents.push((agent.source.clone(), vec![(agent, tunnel)])),
        }
    }
    // Concurrently, because an agent that does not respond must not delay the other agents.
    let reconciling = agents.iter().map(|(source, tunnels)| async {
        let reconciled = reconcile_agent(managed, &cluster, tunnels, now).await;
        (source.clone(), reconciled)
    });
    let reconciled = join_all(reconciling).await;
    let (mut wait, mut errors, mut error) = (INTERVAL, Vec::new(), None);
    for (source, result) in reconciled {
        match result {
            Ok(next) => wait = wait.min(next),
            Err(failed) => {
                errors.push((source, failed.to_string()));
                // An upgraded agent opens a new tunnel, which starts a new reconciliation.
                if !matches!(failed, RotationError::AgentTooOld) {
                    error = Some(failed);
                }
            }
        }
    }
    managed.set_key_errors(errors);
    match error {
        Some(error) => Err(error),
        None if managed.is_connected() => Ok(Action::requeue(wait)),
        None => Ok(Action::await_change()),
    }
}

/// Closes the tunnels of agents whose key is not bound any more.
pub(super) fn close_invalid(managed: &ManagedCluster, cluster: &Cluster, now: Timestamp) {
    managed.controllers.tunnels.retain(
        &managed.uid,
        |agent| is_valid(agent, cluster, now),
        |agent| agent.source.bound_key(cluster).is_some(),
    );
}

/// Replaces the key of one agent if it is due, and asks all its replicas to use the bound key. Returns
/// the time until the next check.
async fn reconcile_agent(
    managed: &ManagedCluster,
    cluster: &Cluster,
    tunnels: &[(AttachedAgent, SelectedTunnel)],
    now: Timestamp,
) -> Result<Duration, RotationError> {
    let (mut wait, mut error, mut is_replaced) = (INTERVAL, None, false);
    for (agent, tunnel) in tunnels {
        let Some(bound) = agent.source.bound_key(cluster) else {
            continue;
        };
        let result = if bound.public_key != agent.key.encode() {
            wait = wait.min(USE_INTERVAL);
            rotation::request_use(tunnel, &bound.public_key).await
        } else if is_replaced {
            // The replicas of the agent share the key.
            Ok(())
        } else if cluster.spec.key_rotation.is_due(bound.at, now) {
            // Boxed, because a replacement is rare and its future is large.
            let replaced = Box::pin(replace(managed, cluster, agent, tunnel, now)).await;
            is_replaced = replaced.is_ok();
            replaced
        } else {
            wait = wait.min(time_to_rotation(&cluster.spec.key_rotation, &bound, now));
            Ok(())
        };
        error = error.or_else(|| result.err());
    }
    match error {
        Some(error) if !is_replaced => Err(error),
        _ => Ok(wait),
    }
}

/// Replaces the key of an agent. The change of the Cluster then starts the reconciliation that asks all
/// replicas to use the new key.
async fn replace(
    managed: &ManagedCluster,
    cluster: &Cluster,
    agent: &AttachedAgent,
    tunnel: &SelectedTunnel,
    now: Timestamp,
) -> Result<(), RotationError> {
    // The hub stores times in seconds. A key that is bound in the second of the request would not be
    // newer than the request.
    let requested = cluster.spec.key_rotation.requested_at.as_ref();
    let after = requested.map_or(now, |at| at.0 + SignedDuration::from_secs(1));
    let hub = &managed.controllers.hub;
    let replacing = rotation::replace(hub, &managed.uid, agent, tunnel, now.max(after));
    let changed = match replacing.await {
        Ok(changed) => changed,
        // The change of the Cluster starts a new reconciliation.
        Err(RotationError::OtherKey) => return Ok(()),
        Err(error) => return Err(error),
    };
    let source = &agent.source;
    tracing::info!(cluster = changed.name_any(), %source, "replaced an agent's key");
    let note = format!("replaced the key of {source}");
    let notices = &managed.controllers.notices;
    notices.inform(&changed, "KeyReplaced", &note).await;
    Ok(())
}

/// Returns the time until the schedule replaces a key.
fn time_to_rotation(spec: &KeyRotationSpec, bound: &BoundKey, now: Timestamp) -> Duration {
    let next = [
        spec.scheduled_after(bound.at),
        spec.requested_at.as_ref().map(|at| at.0),
    ];
    let next = next.into_iter().flatten().filter(|at| *at > now).min();
    next.map_or(INTERVAL, |at| at.duration_since(now).unsigned_abs())
}

/// Reports whether an agent may keep its tunnel. The key of the tunnel is the bound key, or was the bound
/// key until recently.
fn is_valid(agent: &AttachedAgent, cluster: &Cluster, now: Timestamp) -> bool {
    let key = agent.key.encode();
    agent.source.bound_key(cluster).is_some_and(|bound| {
        let is_recent = now.duration_since(bound.at) < KEY_CHANGE_TIME;
        bound.public_key == key || (bound.previous.as_ref() == Some(&key) && is_recent)
    })
}

#[cfg(test)]
mod tests {
    use drover_access::proof::PublicKey;
    use drover_api::kinds::{ClusterSpec, ClusterStatus, Registration};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    const OLD: PublicKey = PublicKey::from_bytes([1; 32]);
    const NEW: PublicKey = PublicKey::from_bytes([2; 32]);
    const BOUND: Timestamp = Timestamp::UNIX_EPOCH;

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new("shop", ClusterSpec::default());
        cluster.status = Some(ClusterStatus {
            registration: Some(Registration {
                public_key: NEW.encode(),
                previous_key: Some(OLD.encode()),
                bound_at: Time(BOUND),
                token_id: "t".to_owned(),
            }),
            ..ClusterStatus::default()
        });
        cluster
    }

    fn after(minutes: i64) -> Timestamp {
        BOUND + SignedDuration::from_mins(minutes)
    }

    #[test]
    fn tunnel_with_a_replaced_key_is_valid_for_five_minutes() {
        let agent = |source: TunnelSource, key: &PublicKey| AttachedAgent {
            source,
            key: key.clone(),
            previous_key: None,
            replica: "r1".to_owned(),
            version: "0.1.0".to_owned(),
            protocol: 2,
        };
        let (cluster, other) = (cluster(), PublicKey::from_bytes([3; 32]));
        for (key, minutes, valid) in [
            (&NEW, 0, true),
            (&NEW, 10_000, true),
            (&OLD, 4, true),
            (&OLD, 5, false),
            (&other, 0, false),
        ] {
            let agent = agent(TunnelSource::Agent, key);
            let found = is_valid(&agent, &cluster, after(minutes));
            assert_eq!(found, valid, "{key:?} after {minutes} min");
        }
        let node = TunnelSource::Node {
            node: "cp-1".to_owned(),
            class: drover_api::agent::NodeClass::ControlPlane,
        };
        assert!(!is_valid(&agent(node, &NEW), &cluster, after(0)));
    }

    #[test]
    fn next_rotation_is_the_schedule_or_a_request_in_the_future() {
        let bound = BoundKey {
            public_key: NEW.encode(),
            previous: None,
            at: BOUND,
        };
        let spec = |days, requested: Option<i64>| KeyRotationSpec {
            days,
            requested_at: requested.map(|minutes| Time(after(minutes))),
        };
        let minutes = |spec| time_to_rotation(&spec, &bound, after(10)).as_secs() / 60;
        assert_eq!(minutes(spec(1, None)), 24 * 60 - 10);
        assert_eq!(minutes(spec(1, Some(30))), 20);
        assert_eq!(minutes(spec(0, None)), 60);
    }
}
