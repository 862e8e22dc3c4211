//! The wait for the deployment of a GitRepo.

use std::cell::RefCell;
use std::time::Duration;

use drover_api::fleet::labels::{BUNDLE_NAMESPACE, REPO_NAME};
use drover_api::fleet::{Bundle, BundleDeployment, GitRepo, RepoState, condition};
use drover_api::gitops::{SYNC_ANSWERED, SYNC_REQUEST};
use jiff::Timestamp;

use super::{bundles_of, repos};
use crate::args::{GitName, GitWait};
use crate::client::Client;
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::terminal::notice;
use crate::wait::{Progress, wait_for};

/// The result of a poll.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Ready,
    Pending(String),
    /// A change of the repository or of the GitRepo is necessary.
    Failed(String),
}

/// Waits until the current spec of a GitRepo is deployed. `written` is the result of the command's write.
pub(in super::super) async fn wait(
    client: &Client,
    name: &GitName,
    written: &GitRepo,
    args: &GitWait,
) -> Result<(), Failure> {
    if !args.wait {
        return Ok(());
    }
    let repos = repos(client, name);
    let failed = RefCell::new(None);
    let poll = || async {
        let repo: GitRepo = repos.get(&name.name).await?;
        let bundles = bundles_of(client, name).await?;
        Ok(match outcome(&repo, written, &bundles) {
            Outcome::Ready => Progress::Done,
            Outcome::Pending(state) => Progress::Pending(state),
            Outcome::Failed(reason) => {
                failed.replace(Some(reason));
                Progress::Done
            }
        })
    };
    wait_for(args.timeout.0, poll).await?;
    if let Some(reason) = failed.into_inner() {
        return Err(Failure::Other(reason));
    }
    notice(&format!(
        "The GitRepo {:?} is ready in all clusters.",
        name.name
    ));
    Ok(())
}

fn outcome(repo: &GitRepo, written: &GitRepo, bundles: &[Bundle]) -> Outcome {
    let RepoState { word, cause, .. } = repo.state();
    let name = repo.metadata.name.as_deref().unwrap_or_default();
    let is_observed = is_observed(repo, written);
    let text = match &*cause {
        "" => word.clone(),
        cause => format!("{word}: {cause}"),
    };
    match &*word {
        "Refused" => Outcome::Failed(format!("the GitRepo {name:?} is refused: {cause}")),
        // An error of a previous spec or commit does not count.
        "Stalled" if is_polled(repo, written) => {
            Outcome::Failed(format!("cannot deploy the GitRepo {name:?}: {cause}"))
        }
        "Paused" => Outcome::Failed(format!(
            "the GitRepo {name:?} is paused; to continue, run: drover git resume {}",
            drover_api::shell::word(name)
        )),
        "Ready" if !is_observed || !is_polled(repo, written) => {
            Outcome::Pending("Waiting for the poll of the repository".to_owned())
        }
        "Ready" => match bundles.iter().filter(|bundle| !is_ready(bundle)).count() {
            0 => Outcome::Ready,
            count => Outcome::Pending(format!("{count} bundles are not ready yet")),
        },
        _ => Outcome::Pending(text),
    }
}

/// Reports whether the status describes the written spec, or a later spec.
pub(in super::super) fn is_observed(repo: &GitRepo, written: &GitRepo) -> bool {
    let status = repo.status.as_ref();
    let observed = status.map_or(0, |status| status.observed_generation);
    Some(observed) >= written.metadata.generation
}

/// Reports whether the status is newer than the requested poll.
fn is_polled(repo: &GitRepo, written: &GitRepo) -> bool {
    let annotations = written.metadata.annotations.as_ref();
    let Some(request) = annotations.and_then(|annotations| annotations.get(SYNC_REQUEST)) else {
        return true;
    };
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let answer = repo.condition(SYNC_ANSWERED).map(|answer| &answer.message);
    // The answer to a later request of another user is sufficient.
    answer.is_some_and(|answer| answer == request || time(answer) >= time(request))
}

/// Reports whether the status of a Bundle describes its current files, and all its clusters are ready.
pub(in super::super) fn is_ready(bundle: &Bundle) -> bool {
    let status = bundle.status.as_ref();
    status.is_some_and(|status| {
        let ready = condition(&status.conditions, "Ready");
        bundle.metadata.generation == Some(status.observed_generation)
            && ready.is_some_and(|ready| ready.status == "True")
    })
}

/// Waits until the agents have applied the option `keepResources` of a GitRepo. An agent without this option
/// deletes the objects.
pub(super) async fn wait_until_kept(
    client: &Client,
    name: &GitName,
    timeout: Duration,
) -> Result<(), Failure> {
    let deployments = HubObjects::fleet(client, "bundledeployments", None);
    let (repo, namespace) = (&name.name, &name.namespace.namespace);
    let labels = format!("{REPO_NAME}={repo},{BUNDLE_NAMESPACE}={namespace}");
    let poll = || async {
        let found: Vec<BundleDeployment> = deployments.list(Some(labels.clone())).await?;
        Ok(match found.iter().filter(|it| !is_kept(it)).count() {
            0 => Progress::Done,
            count => Progress::Pending(format!(
                "{count} bundle deployments do not have keepResources yet"
            )),
        })
    };
    wait_for(timeout, poll).await
}

fn is_kept(deployment: &BundleDeployment) -> bool {
    let applied = deployment.status.as_ref();
    let applied = applied.map_or("", |status| &status.applied_deployment_id);
    deployment.spec.options.keep_resources && deployment.spec.deployment_id == applied
}

/// Waits until the hub contains no Bundle of a GitRepo.
pub(super) async fn wait_until_gone(
    client: &Client,
    name: &GitName,
    timeout: Duration,
) -> Result<(), Failure> {
    let poll = || async {
        let bundles = bundles_of(client, name).await?;
        Ok(match bundles.len() {
            0 => Progress::Done,
            count => Progress::Pending(format!("{count} bundles are being deleted")),
        })
    };
    wait_for(timeout, poll).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn repo(request: Option<&str>, answer: &str, conditions: &[Value]) -> GitRepo {
        let annotations = request.map(|request| json!({ SYNC_REQUEST: request }));
        let answer = json!({ "type": SYNC_ANSWERED, "status": "True", "message": answer });
        let conditions = [&[answer], conditions].concat();
        from_value(json!({
            "metadata": { "name": "shop", "generation": 3, "annotations": annotations },
            "spec": {},
            "status": { "observedGeneration": 3, "commit": "c1", "conditions": conditions },
        }))
        .unwrap()
    }

    #[test]
    fn wait_ends_only_with_the_result_of_the_requested_poll() {
        let ready = [json!({ "type": "Ready", "status": "True" })];
        let stalled =
            [json!({ "type": "Stalled", "status": "True", "message": "fleet.yaml is wrong" })];
        let refused = [json!({ "type": "Accepted", "status": "False", "message": "no" })];
        let of = |request, answer, conditions: &[Value]| {
            let repo = repo(request, answer, conditions);
            outcome(&repo, &repo, &[])
        };
        let times = [
            "2026-11-30T12:00:00Z",
            "2026-11-30T12:00:00.5Z",
            "2026-11-30T12:00:01Z",
        ];
        let [before, request, after] = times;
        assert_eq!(of(None, "", &ready), Outcome::Ready);
        assert_eq!(of(Some(request), request, &ready), Outcome::Ready);
        assert_eq!(of(Some(request), after, &ready), Outcome::Ready);
        for answer in ["", before] {
            assert!(matches!(
                of(Some(request), answer, &ready),
                Outcome::Pending(_)
            ));
            assert!(matches!(
                of(Some(request), answer, &stalled),
                Outcome::Pending(_)
            ));
        }
        assert!(matches!(of(None, "", &stalled), Outcome::Failed(_)));
        assert!(matches!(
            of(Some(request), before, &refused),
            Outcome::Failed(_)
        ));
        let mut changed = repo(None, "", &ready);
        changed.metadata.generation = Some(4);
        let repo = repo(None, "", &ready);
        assert!(matches!(outcome(&repo, &changed, &[]), Outcome::Pending(_)));
        // Another user has requested a later poll.
        let mut later = self::repo(Some(after), before, &ready);
        let requested = self::repo(Some(request), before, &ready);
        assert!(matches!(
            outcome(&later, &requested, &[]),
            Outcome::Pending(_)
        ));
        later = self::repo(Some(after), after, &ready);
        assert_eq!(outcome(&later, &requested, &[]), Outcome::Ready);
    }

    #[test]
    fn wait_continues_while_a_bundle_has_the_status_of_its_previous_files() {
        let repo = repo(None, "", &[json!({ "type": "Ready", "status": "True" })]);
        for (observed, status, is_ready) in
            [(2, "True", true), (1, "True", false), (2, "False", false)]
        {
            let bundle: Bundle = from_value(json!({
                "metadata": { "name": "shop", "generation": 2 },
                "status": {
                    "observedGeneration": observed,
                    "conditions": [{ "type": "Ready", "status": status }],
                },
            }))
            .unwrap();
            let outcome = outcome(&repo, &repo, &[bundle]);
            assert_eq!(outcome == Outcome::Ready, is_ready, "{outcome:?}");
        }
    }
}
