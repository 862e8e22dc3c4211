//! Runs Helm's hooks: objects that a release creates before or after its changes.

use std::time::Duration;

use drover_apply::{ApplyError, call, is_conflict};
use kube::api::{DynamicObject, PostParams};
use serde_json::Value;
use tokio::time::Instant;

use crate::apply::{delete, wait_until_gone};
use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey};
use crate::renderer::RenderedHook;

/// Interval between two reads while a hook runs.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout of the hooks of a release without a configured timeout. Helm uses the same time.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// An event of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Before the first deployment.
    PreInstall,
    /// After the first deployment.
    PostInstall,
    /// Before a later deployment.
    PreUpgrade,
    /// After a later deployment.
    PostUpgrade,
    /// Before the return to the previous release.
    PreRollback,
    /// After the return to the previous release.
    PostRollback,
    /// Before the deletion.
    PreDelete,
    /// After the deletion.
    PostDelete,
}

impl Event {
    /// Returns the name in the annotation `helm.sh/hook`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
        }
    }
}

/// The reason why a hook failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// A call failed.
    #[error("cannot run the {event} hook {key}: {source}")]
    Cluster {
        /// Name of the event.
        event: &'static str,
        /// The object of the hook.
        key: ObjectKey,
        /// The failed call.
        source: ClusterError,
    },
    /// The Job or Pod failed.
    #[error("the {event} hook {key} failed: {reason}")]
    Failed {
        /// Name of the event.
        event: &'static str,
        /// The object of the hook.
        key: ObjectKey,
        /// The reason in the status of the object.
        reason: String,
    },
    /// The Job or Pod did not end in time.
    #[error("{event} hooks failed: timed out waiting for the condition ({key})")]
    Timeout {
        /// Name of the event.
        event: &'static str,
        /// The object of the hook.
        key: ObjectKey,
    },
}

/// The state of the object of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Succeeded,
    Failed(String),
}

/// Returns the hooks of an event in their order: by weight, then by name.
pub fn hooks_of(hooks: &[RenderedHook], event: Event) -> Vec<&RenderedHook> {
    let is_for_event = |hook: &&RenderedHook| hook.events.iter().any(|name| name == event.name());
    let mut selected: Vec<_> = hooks.iter().filter(is_for_event).collect();
    selected.sort_by(|a, b| (a.weight, a.object.name()).cmp(&(b.weight, b.object.name())));
    selected
}

/// Runs the hooks of an event, one after the other. Stops at the first failing hook.
pub async fn run(
    cluster: &Cluster,
    hooks: &[RenderedHook],
    event: Event,
    timeout: Duration,
) -> Result<(), HookError> {
    let deadline = Instant::now() + timeout;
    let selected = hooks_of(hooks, event);
    for hook in &selected {
        let runner = Runner {
            cluster,
            hook,
            event: event.name(),
            deadline,
        };
        if let Err(error) = runner.run().await {
            runner.delete_after("hook-failed").await?;
            return Err(error);
        }
    }
    for hook in &selected {
        Runner {
            cluster,
            hook,
            event: event.name(),
            deadline,
        }
        .delete_after("hook-succeeded")
        .await?;
    }
    Ok(())
}

struct Runner<'a> {
    cluster: &'a Cluster,
    hook: &'a RenderedHook,
    event: &'static str,
    deadline: Instant,
}

impl Runner<'_> {
    fn failed(&self, source: impl Into<ClusterError>) -> HookError {
        HookError::Cluster {
            event: self.event,
            key: self.hook.object.key(),
            source: source.into(),
        }
    }

    fn has_policy(&self, policy: &str) -> bool {
        let policies = &self.hook.delete_policies;
        // Helm's default is the deletion before the next run.
        policies.iter().any(|name| name == policy)
            || (policies.is_empty() && policy == "before-hook-creation")
    }

    async fn run(&self) -> Result<(), HookError> {
        let key = self.hook.object.key();
        let timeout = || HookError::Timeout {
            event: self.event,
            key: key.clone(),
        };
        if self.has_policy("before-hook-creation") {
            self.delete(&key).await?;
            let left = self.deadline.saturating_duration_since(Instant::now());
            let gone = wait_until_gone(self.cluster, &key, left).await;
            if !gone.map_err(|error| self.failed(error))? {
                return Err(timeout());
            }
        }
        self.create(&key).await?;
        loop {
            let live = self
                .cluster
                .get(&key)
                .await
                .map_err(|error| self.failed(error))?;
            match live.as_ref().map_or(Progress::Succeeded, progress) {
                Progress::Succeeded => return Ok(()),
                Progress::Failed(reason) => {
                    return Err(HookError::Failed {
                        event: self.event,
                        key,
                        reason,
                    });
                }
                Progress::Running if Instant::now() >= self.deadline => return Err(timeout()),
                Progress::Running => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    async fn create(&self, key: &ObjectKey) -> Result<(), HookError> {
        let kind = self.cluster.kind(&key.api_version, &key.kind).await;
        let kind = kind.map_err(|error| self.failed(error))?;
        let object: DynamicObject =
            serde_json::from_value(self.hook.object.0.clone()).map_err(|error| {
                self.failed(ApplyError::Call {
                    operation: format!("create {key}"),
                    source: kube::Error::SerdeError(error).into(),
                })
            })?;
        let api = self.cluster.api(&kind, &key.namespace);
        let created = call(
            format!("create {key}"),
            api.create(&PostParams::default(), &object),
        )
        .await;
        match created {
            // The agent was interrupted after it had created the object.
            Err(ApplyError::Call { source, .. }) if is_conflict(&source) => Ok(()),
            created => created.map(drop).map_err(|error| self.failed(error)),
        }
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), HookError> {
        delete(self.cluster, key, None)
            .await
            .map_err(|error| self.failed(error))
    }

    async fn delete_after(&self, policy: &str) -> Result<(), HookError> {
        if self.has_policy(policy) && !self.hook.object.is_crd() {
            self.delete(&self.hook.object.key()).await?;
        }
        Ok(())
    }
}

/// Returns the progress of a Job or Pod. Objects of other kinds succeed immediately.
fn progress(object: &Object) -> Progress {
    match object.kind() {
        "Job" => job_progress(object),
        "Pod" => match object.0.pointer("/status/phase").and_then(Value::as_str) {
            Some("Succeeded") => Progress::Succeeded,
            Some("Failed") => Progress::Failed("the pod failed".to_owned()),
            _ => Progress::Running,
        },
        _ => Progress::Succeeded,
    }
}

fn job_progress(job: &Object) -> Progress {
    let conditions = job
        .0
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        let text = |field: &str| {
            condition
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match (text("type"), text("status")) {
            ("Complete", "True") => return Progress::Succeeded,
            ("Failed", "True") => return Progress::Failed(text("message").to_owned()),
            _ => {}
        }
    }
    Progress::Running
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook(name: &str, weight: i32, events: &[&str]) -> RenderedHook {
        RenderedHook {
            path: String::new(),
            object: Object(json!({"kind": "Job", "metadata": {"name": name}})),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            weight,
            delete_policies: Vec::new(),
        }
    }

    #[test]
    fn hooks_run_by_weight_and_then_by_name() {
        let hooks = [
            hook("c", 0, &["pre-install"]),
            hook("b", 0, &["pre-install", "pre-upgrade"]),
            hook("a", 5, &["pre-install"]),
            hook("d", -5, &["pre-install"]),
            hook("e", 0, &["post-install"]),
        ];
        let names: Vec<_> = hooks_of(&hooks, Event::PreInstall)
            .iter()
            .map(|hook| hook.object.name())
            .collect();
        assert_eq!(names, ["d", "b", "c", "a"]);
    }

    #[test]
    fn progress_comes_from_the_status() {
        for (object, expected) in [
            (json!({"kind": "ConfigMap"}), Progress::Succeeded),
            (json!({"kind": "Job"}), Progress::Running),
            (
                json!({"kind": "Job", "status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
                Progress::Succeeded,
            ),
            (
                json!({"kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}}),
                Progress::Failed("m".to_owned()),
            ),
            (
                json!({"kind": "Pod", "status": {"phase": "Running"}}),
                Progress::Running,
            ),
            (
                json!({"kind": "Pod", "status": {"phase": "Succeeded"}}),
                Progress::Succeeded,
            ),
        ] {
            assert_eq!(progress(&Object(object.clone())), expected, "{object}");
        }
    }
}
