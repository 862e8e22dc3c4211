//! Writes the status of GitRepos: the state of the repository and the roll-up of its bundles.

use std::time::Duration;

use drover_api::fleet::{BundleDeployment, FleetCondition, GitRepo, GitRepoStatus};
use drover_api::gitops::SYNC_ANSWERED;
use drover_gitops::policy::Refusal;
use drover_gitops::states::{Aggregate, ready_condition, set_condition};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client};
use std::sync::Arc;

use super::owner;
use super::state::{RepoState, States};
use crate::mirror::Key;
use crate::rollups::{write_deployments, write_error};
use crate::world::World;
use crate::writes::{now, write_status};

/// Time after which the time of the last poll is written without another change.
const POLL_TIME: Duration = Duration::from_mins(5);

/// The controller of GitRepo statuses. The key is the namespace and name of a GitRepo.
#[derive(Clone)]
pub(crate) struct RepoStatuses {
    pub(crate) client: Client,
    pub(crate) world: World,
    pub(crate) states: States,
}

impl RepoStatuses {
    fn status(&self, key: &Key, repo: &GitRepo) -> GitRepoStatus {
        let state = self.states.get(key);
        let mut status = repo.status.clone().unwrap_or_default();
        let deployments = self.deployments(key);
        let aggregate = write_deployments(&mut status.base, &deployments);
        if let Some(commit) = &state.commit {
            status.commit.clone_from(commit);
        }
        if let Some(polled) = &state.polled {
            status.polling_commit.clone_from(polled);
        }
        if let Some(generation) = state.generation {
            status.observed_generation = generation;
        }
        status.last_polling_time = poll_time(status.last_polling_time.take(), &state);
        status.update_generation = repo.spec.force_sync_generation;
        let job = match (&state.failure, state.is_reading) {
            (_, true) => "InProgress",
            (Some(_), _) => "Failed",
            _ => "Current",
        };
        job.clone_into(&mut status.git_job_status);
        let failure = state.failure.as_ref().map(|failure| &failure.message);
        if let Some(error) = state.refusal.as_ref().or(failure) {
            write_error(&mut status.base, "GitError", error);
        } else if state.is_reading {
            "GitUpdating".clone_into(&mut status.base.display.state);
        }
        set_conditions(&mut status.base.conditions, &state, &aggregate);
        status
    }

    fn deployments(&self, key: &Key) -> Vec<Arc<BundleDeployment>> {
        let bundles = self.world.bundles.in_namespace(&key.namespace);
        let own = bundles
            .iter()
            .filter(|bundle| owner(bundle).as_ref() == Some(key));
        own.flat_map(|bundle| self.world.of_bundle(&Key::of(&**bundle)))
            .collect()
    }
}

/// Returns the time of the last poll, rounded down so that polls alone cause few writes.
fn poll_time(written: Option<Time>, state: &RepoState) -> Option<Time> {
    let Some(polled) = state.polled_at else {
        return written;
    };
    match written {
        Some(written) if polled.duration_since(written.0).unsigned_abs() < POLL_TIME => {
            Some(written)
        }
        _ => Timestamp::from_second(polled.as_second()).ok().map(Time),
    }
}

fn set_conditions(conditions: &mut Vec<FleetCondition>, state: &RepoState, aggregate: &Aggregate) {
    let now = now();
    let failure = state.failure.as_ref();
    let message = failure.map_or_else(String::new, |failure| {
        format!(
            "{}; next attempt at {}",
            failure.message,
            failure.next.strftime("%H:%M:%SZ")
        )
    });
    let is_poll_failure = failure.is_some_and(|failure| !failure.is_content);
    let polling = if is_poll_failure {
        ("False", &*message)
    } else {
        ("True", "")
    };
    set_condition(conditions, "GitPolling", polling.0, "", polling.1, &now);
    if let Some(answer) = &state.answer {
        set_condition(conditions, SYNC_ANSWERED, "True", "", answer, &now);
    }
    let reconciling = if state.is_reading { "True" } else { "False" };
    set_condition(conditions, "Reconciling", reconciling, "", "", &now);
    let is_stalled = failure.is_some_and(|failure| failure.is_content);
    let refusal = state.refusal.as_deref();
    let (stalled, reason, cause) = match refusal {
        Some(refusal) => ("True", Refusal::REASON, refusal),
        None if is_stalled => ("True", "", &*message),
        None => ("False", "", ""),
    };
    set_condition(conditions, "Stalled", stalled, reason, cause, &now);
    let (accepted, reason) = match refusal {
        Some(_) => ("False", Refusal::REASON),
        None => ("True", ""),
    };
    let cause = refusal.unwrap_or_default();
    set_condition(conditions, "Accepted", accepted, reason, cause, &now);
    let ready = if failure.is_some() {
        message.clone()
    } else {
        aggregate.ready_message("Bundle")
    };
    ready_condition(conditions, &ready, &now);
}

impl Reconciler for RepoStatuses {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(repo) = self.world.git_repos.get(key) else {
            return Ok(Action::await_change());
        };
        let status = self.status(key, &repo);
        let repos = Api::<GitRepo>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of a GitRepo";
        let before = repo.status.as_ref();
        let written = write_status(operation, &repos, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.git_repos.observe(written);
        }
        Ok(Action::await_change())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_git_repo_has_the_condition_accepted_false_with_the_cause() {
        let cause = "spec.serviceAccount: \"admin\" is not permitted";
        let mut state = RepoState::default();
        state.refusal = Some(cause.to_owned());
        let mut conditions = Vec::new();
        set_conditions(&mut conditions, &state, &Aggregate::default());
        let accepted = conditions.iter().find(|it| it.type_ == "Accepted").unwrap();
        assert_eq!(accepted.status, "False");
        assert_eq!(accepted.reason, "PolicyViolation");
        assert_eq!(accepted.message, cause);
    }
}
