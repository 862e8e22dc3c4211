//! Implements `drover rollout`.

use std::cell::RefCell;
use std::fmt::Write as _;

use drover_api::fleet::{Bundle, BundleSummary, GitRepo};

use super::git::progress::{self, is_observed, is_ready};
use super::git::{bundles_of, pause, repos, resume};
use crate::args::{GitWait, RolloutArgs, RolloutCommand, RolloutStatus};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::{Table, or_dash, printable};
use crate::terminal::print;
use crate::wait::{Progress, wait_for};

/// Runs a subcommand of `drover rollout`.
pub(crate) async fn run(args: &RolloutArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        RolloutCommand::Status(status) => show(&client, status).await,
        RolloutCommand::Pause(repo) => pause(&client, repo).await,
        RolloutCommand::Resume(wanted) => resume(&client, wanted).await,
    }
}

async fn show(client: &Client, args: &RolloutStatus) -> Result<(), Failure> {
    if args.watch {
        return watch(client, args).await;
    }
    let repo: GitRepo = repos(client, &args.repo).get(&args.repo.name).await?;
    let bundles = bundles_of(client, &args.repo).await?;
    print(&text(&repo, &bundles))?;
    let wait = GitWait {
        wait: args.wait,
        timeout: args.timeout,
    };
    progress::wait(client, &args.repo, &repo, &wait).await
}

/// Prints the rollout after each change, until all clusters are ready.
async fn watch(client: &Client, args: &RolloutStatus) -> Result<(), Failure> {
    let repos = repos(client, &args.repo);
    let (shown, failed) = (RefCell::new(String::new()), RefCell::new(None));
    let poll = || async {
        let repo: GitRepo = repos.get(&args.repo.name).await?;
        let bundles = bundles_of(client, &args.repo).await?;
        let text = text(&repo, &bundles);
        if *shown.borrow() != text {
            // The wait cannot return an error of the output.
            if let Err(error) = print(&text) {
                failed.replace(Some(error));
                return Ok(Progress::Done);
            }
            shown.replace(text);
        }
        let state = repo.state().word;
        let is_done = is_observed(&repo, &repo) && state == "Ready" && bundles.iter().all(is_ready);
        Ok::<_, CallError>(if is_done {
            Progress::Done
        } else {
            Progress::Pending(state)
        })
    };
    wait_for(args.timeout.0, poll).await?;
    match failed.into_inner() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Returns the state of a GitRepo, and a table of the partitions of its Bundles.
fn text(repo: &GitRepo, bundles: &[Bundle]) -> String {
    let state = repo.state();
    let status = repo.status.as_ref();
    let commit = status.map(|status| status.commit.as_str());
    let cause = match &*state.cause {
        "" => String::new(),
        cause => format!(": {cause}"),
    };
    let mut text = printable(&format!(
        "Commit {}: {}{cause}\n",
        or_dash(commit),
        state.word
    ));
    let mut table = Table::new(&["BUNDLE", "PARTITION", "READY", "UNAVAILABLE", "STATES"]);
    for bundle in bundles {
        add_rows(&mut table, bundle);
    }
    if !bundles.is_empty() {
        // A write to a String does not fail.
        let _ = write!(text, "{}", table.render());
    }
    text
}

fn add_rows(table: &mut Table, bundle: &Bundle) {
    let name = or_dash(bundle.metadata.name.as_deref());
    let status = bundle.status.clone().unwrap_or_default();
    let ready = |summary: &BundleSummary| format!("{}/{}", summary.ready, summary.desired_ready);
    if status.partition_status.is_empty() {
        let (ready, others) = (ready(&status.summary), states(&status.summary));
        table.row(&[name, or_dash(None), ready, or_dash(None), others]);
        return;
    }
    for partition in &status.partition_status {
        table.row(&[
            name.clone(),
            partition.name.clone(),
            ready(&partition.summary),
            format!(
                "{} (limit {})",
                partition.unavailable, partition.max_unavailable
            ),
            states(&partition.summary),
        ]);
    }
}

/// Returns the numbers of the states of clusters that are not ready.
fn states(summary: &BundleSummary) -> String {
    let counts = [
        ("Pending", summary.pending),
        ("OutOfSync", summary.out_of_sync),
        ("WaitApplied", summary.wait_applied),
        ("ErrApplied", summary.err_applied),
        ("NotReady", summary.not_ready),
        ("Modified", summary.modified),
    ];
    let present = counts.iter().filter(|(_, count)| *count > 0);
    let texts: Vec<String> = present
        .map(|(word, count)| format!("{word} {count}"))
        .collect();
    or_dash(Some(&texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn table_shows_each_partition_and_the_cause_of_a_stop() {
        let repo: GitRepo = from_value(json!({
            "metadata": { "name": "shop" },
            "status": {
                "commit": "c2",
                "display": { "state": "ErrApplied" },
                "conditions": [{
                    "type": "Ready", "status": "False",
                    "message": "the rollout stops at the partition test: ErrApplied in fleet-default/a",
                }],
            },
        }))
        .unwrap();
        let summary = |ready, failed, waiting| json!({ "ready": ready, "desiredReady": 3, "errApplied": failed, "outOfSync": waiting });
        let bundles: Vec<Bundle> = from_value(json!([
            {
                "metadata": { "name": "shop-web" },
                "status": { "partitions": [
                    { "name": "test", "maxUnavailable": 1, "unavailable": 1, "summary": summary(2, 1, 0) },
                    { "name": "prod", "maxUnavailable": 1, "unavailable": 0, "summary": summary(0, 0, 3) },
                ] },
            },
            { "metadata": { "name": "shop-db" }, "status": { "summary": summary(3, 0, 0) } },
        ]))
        .unwrap();
        insta::assert_snapshot!(text(&repo, &bundles), @r"
        Commit c2: ErrApplied: the rollout stops at the partition test: ErrApplied in fleet-default/a
        BUNDLE     PARTITION   READY   UNAVAILABLE   STATES
        shop-web   test        2/3     1 (limit 1)   ErrApplied 1
        shop-web   prod        0/3     0 (limit 1)   OutOfSync 3
        shop-db    -           3/3     -             -
        ");
    }
}
