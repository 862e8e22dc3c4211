//! Implements `drover git`.

mod add;
mod pages;
pub(super) mod progress;

use drover_api::fleet::labels::REPO_NAME;
use drover_api::fleet::{Bundle, GitRepo};
use drover_api::gitops::SYNC_REQUEST;
use jiff::Timestamp;
use serde_json::{Value, json};

use self::pages::RepoPage;
use crate::args::{GitArgs, GitCommand, GitDelete, GitList, GitName, GitResume, GitSync};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::output::{list, one};
use crate::terminal::{confirm, notice, print};

/// Name of the kind GitRepo in paths.
const REPOS: &str = "gitrepos";
/// Name of the kind Bundle in paths.
const BUNDLES: &str = "bundles";

/// Runs a subcommand of `drover git`.
pub(crate) async fn run(args: &GitArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        GitCommand::Add(wanted) => Box::pin(add::run(&client, wanted)).await,
        GitCommand::List(wanted) => print_list(&client, wanted).await,
        GitCommand::Get(wanted) => {
            let repo = repos(&client, &wanted.repo).get(&wanted.repo.name).await?;
            let bundles = bundles_of(&client, &wanted.repo).await?;
            let page = RepoPage { repo, bundles };
            Ok(print(&one(&page, wanted.output.format, Timestamp::now())?)?)
        }
        GitCommand::Sync(wanted) => sync(&client, wanted).await,
        GitCommand::Pause(repo) => pause(&client, repo).await,
        GitCommand::Resume(wanted) => resume(&client, wanted).await,
        GitCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

pub(super) fn repos(client: &Client, repo: &GitName) -> HubObjects {
    HubObjects::fleet(client, REPOS, Some(&repo.namespace.namespace))
}

/// Returns the Bundles of a GitRepo, in the order of their names.
pub(super) async fn bundles_of(client: &Client, repo: &GitName) -> Result<Vec<Bundle>, CallError> {
    let bundles = HubObjects::fleet(client, BUNDLES, Some(&repo.namespace.namespace));
    let mut found: Vec<Bundle> = bundles
        .list(Some(format!("{REPO_NAME}={}", repo.name)))
        .await?;
    found.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    Ok(found)
}

/// Returns the arguments that name a GitRepo, for command lines in messages.
fn command_line(repo: &GitName) -> String {
    let name = drover_api::shell::word(&repo.name);
    match &*repo.namespace.namespace {
        drover_api::gitops::FLEET_NAMESPACE => name,
        namespace => format!("{name} -n {}", drover_api::shell::word(namespace)),
    }
}

async fn print_list(client: &Client, args: &GitList) -> Result<(), Failure> {
    let namespace = (!args.all_namespaces).then_some(&*args.namespace.namespace);
    let mut found: Vec<GitRepo> = HubObjects::fleet(client, REPOS, namespace)
        .list(None)
        .await?;
    let key = |repo: &GitRepo| (repo.metadata.namespace.clone(), repo.metadata.name.clone());
    found.sort_by_key(key);
    let none = "No GitRepos. To add a repository, run: drover git add --help";
    let now = Timestamp::now();
    Ok(print(&list(found, args.output.format, now, none)?)?)
}

/// Stages new commits without a deployment.
pub(super) async fn pause(client: &Client, repo: &GitName) -> Result<(), Failure> {
    set_paused(client, repo, true).await?;
    notice(&format!(
        "Paused the GitRepo {:?}. To continue, run: drover git resume {}",
        repo.name,
        command_line(repo)
    ));
    Ok(())
}

/// Deploys the staged commit and new commits.
pub(super) async fn resume(client: &Client, args: &GitResume) -> Result<(), Failure> {
    let repo = set_paused(client, &args.repo, false).await?;
    notice(&format!("Resumed the GitRepo {:?}.", args.repo.name));
    progress::wait(client, &args.repo, &repo, &args.wait).await
}

/// Changes the pause of a GitRepo, and requests a poll, so that the conditions belong to the current commit.
async fn set_paused(client: &Client, repo: &GitName, paused: bool) -> Result<GitRepo, CallError> {
    let mut patch = sync_request();
    patch["spec"] = json!({ "paused": paused });
    repos(client, repo).patch(&repo.name, &patch).await
}

/// Returns the patch that requests a poll.
fn sync_request() -> Value {
    json!({ "metadata": { "annotations": { SYNC_REQUEST: Timestamp::now().to_string() } } })
}

/// Requests a poll, and with `--force` a new deployment of all bundles.
async fn sync(client: &Client, args: &GitSync) -> Result<(), Failure> {
    let repos = repos(client, &args.repo);
    let name = &args.repo.name;
    let mut patch = sync_request();
    if args.force {
        let present: GitRepo = repos.get(name).await?;
        // With concurrent commands, one new deployment is sufficient.
        let generation = present.spec.force_sync_generation.saturating_add(1);
        patch["spec"] = json!({ "forceSyncGeneration": generation });
    }
    let repo: GitRepo = repos.patch(name, &patch).await?;
    if repo.spec.paused {
        notice(&format!(
            "The GitRepo {name:?} is paused: new commits are not deployed. To continue, run: drover git resume {}",
            command_line(&args.repo)
        ));
    } else {
        notice(&format!("Requested a poll of the GitRepo {name:?}."));
    }
    progress::wait(client, &args.repo, &repo, &args.wait).await
}

async fn delete(client: &Client, args: &GitDelete) -> Result<(), Failure> {
    let repos = repos(client, &args.repo);
    let name = args.repo.name.as_str();
    let repo: GitRepo = repos.get(name).await?;
    let keeps = args.keep_resources || repo.spec.keep_resources;
    if !args.yes {
        let effect = if keeps {
            "The deployed objects stay in the clusters."
        } else {
            "The agents delete its objects in the clusters."
        };
        let question = format!("Delete the GitRepo {name:?}? {effect}");
        confirm(&question, "confirmation of the deletion", "use --yes")?;
    }
    if args.keep_resources {
        if repo.spec.paused {
            return Err(Failure::Other(format!(
                "cannot keep the objects: the GitRepo {name:?} is paused, so the agents do not receive the \
                 option; run: drover git resume {}",
                command_line(&args.repo)
            )));
        }
        if !repo.spec.keep_resources {
            let patch = json!({ "spec": { "keepResources": true } });
            let _: GitRepo = repos.patch(name, &patch).await?;
        }
        // A previous command can have ended before the agents applied the option.
        progress::wait_until_kept(client, &args.repo, args.timeout.0).await?;
    }
    repos.delete(name, &json!(repo.metadata.uid)).await?;
    add::delete_credential(client, &args.repo, &repo).await?;
    notice(&format!("Deleted the GitRepo {name:?}."));
    if args.wait {
        progress::wait_until_gone(client, &args.repo, args.timeout.0).await?;
        notice("The hub contains no bundle of the GitRepo.");
    }
    Ok(())
}
