//! From what is known to what to do next. Pure: the time is given, nothing is written here.
//!
//! Each submodule plays one part of a cluster and looks at the whole world, every time: a decision
//! made twice is the same, and one that was not carried out is made again.

mod daemon_sets;
mod deployments;
mod endpoints;
mod jobs;
mod kubelet;
mod nodes;
mod owned;
mod replica_sets;
mod rollout;
mod scheduler;
mod stateful_sets;
mod template;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value};

use crate::act::{Act, Part, Severity, Target};
use crate::annotations::Pace;
use crate::world::{Kind, Known, World};

pub(crate) use kubelet::containers::host_address;
pub(crate) use owned::pods_by_owner;
pub(crate) use scheduler::amounts;

/// What to do, and when to look again by oneself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// In no order: they are about different things, or do not depend on each other.
    pub acts: Vec<Act>,
    /// When something is due that no watch tells of.
    pub wake: Option<Timestamp>,
}

/// Decides for the whole cluster.
pub fn decide(world: &World, pace: &Pace, now: Timestamp) -> Decision {
    let mut deciding = Deciding {
        now,
        decision: Decision::default(),
    };
    let owned = pods_by_owner(world);
    nodes::decide(world, pace, &mut deciding);
    deployments::decide(world, &mut deciding);
    replica_sets::decide(world, &owned, &mut deciding);
    stateful_sets::decide(world, &owned, &mut deciding);
    daemon_sets::decide(world, &owned, &mut deciding);
    jobs::decide(world, pace, &owned, &mut deciding);
    scheduler::decide(world, &mut deciding);
    kubelet::decide(world, pace, &mut deciding);
    endpoints::decide(world, &mut deciding);
    deciding.spare(world);
    deciding.decision
}

/// Pods that a cluster without nodes may have; with nodes, twice what they take is added.
const MOST_PODS: usize = 500;

/// How many pods a cluster may have, so that a typo in a number of replicas does not fill memory and
/// disk, which it shares with others.
fn most_pods(world: &World) -> usize {
    let takes = |node: &Node| -> Option<usize> {
        let pods = &node.status.as_ref()?.allocatable.as_ref()?.get("pods")?.0;
        pods.parse().ok()
    };
    let all = world.nodes.iter().filter_map(takes);
    all.fold(MOST_PODS, |sum, pods| {
        sum.saturating_add(pods.saturating_mul(2))
    })
}

/// A decision in the making.
struct Deciding {
    now: Timestamp,
    decision: Decision,
}

impl Deciding {
    fn act(&mut self, act: Act) {
        self.decision.acts.push(act);
    }

    /// Leaves out pods beyond those that a cluster may have: their turn comes when others go.
    fn spare(&mut self, world: &World) {
        let mut room = most_pods(world).saturating_sub(world.pods.iter().count());
        self.decision.acts.retain(|act| {
            let pod = matches!(
                act,
                Act::Create {
                    kind: Kind::Pod,
                    ..
                }
            );
            let fits = !pod || room > 0;
            room -= usize::from(pod && fits);
            fits
        });
    }

    /// Looks again at this time; tells whether it has come.
    fn due(&mut self, at: Timestamp) -> bool {
        if at <= self.now {
            return true;
        }
        let wake = &mut self.decision.wake;
        *wake = Some(wake.map_or(at, |other| other.min(at)));
        false
    }

    /// The same for some time after another; times beyond all calendars never come.
    fn due_after(&mut self, since: Timestamp, pause: SignedDuration) -> bool {
        self.due(since.saturating_add(pause).unwrap_or(Timestamp::MAX))
    }

    fn status<K: Known>(&mut self, part: Part, object: &K, status: Value) {
        self.act(Act::Patch {
            part,
            target: Target::of(object),
            subresource: "status",
            patch: Value::Object(Map::from_iter([("status".to_owned(), status)])),
        });
    }

    fn patch<K: Known>(&mut self, object: &K, patch: Value) {
        self.act(Act::Patch {
            part: Part::Controllers,
            target: Target::of(object),
            subresource: "",
            patch,
        });
    }

    fn create<K: Known>(&mut self, object: Value) {
        self.act(Act::Create {
            part: Part::Controllers,
            kind: K::KIND,
            object,
        });
    }

    fn delete<K: Known>(&mut self, object: &K, grace_seconds: Option<u32>) {
        self.act(Act::Delete {
            target: Target::of(object),
            grace_seconds,
        });
    }

    fn tell<K: Known>(&mut self, about: &K, reason: &'static str, message: impl Into<String>) {
        self.tell_as(
            Part::Controllers,
            about,
            Severity::Normal,
            reason,
            message,
            "",
        );
    }

    fn tell_as<K: Known>(
        &mut self,
        part: Part,
        about: &K,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
        host: &str,
    ) {
        self.act(Act::Tell {
            part,
            about: Target::of(about),
            severity,
            reason,
            message: message.into(),
            host: host.to_owned(),
        });
    }
}

/// As a status holds a time.
fn time(at: Timestamp) -> Value {
    serde_json::json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at))
}

/// A count as a status holds it.
fn count(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
