//! Texts of GitRepos.

use std::fmt::Write as _;

use drover_api::fleet::{Bundle, GitRepo, GitTarget, condition};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::output::{Listed, Page};
use crate::table::{DASH, Table, age, describe, or_dash};

/// Number of characters of a commit in tables.
const SHORT_COMMIT: usize = 12;

/// A GitRepo with its Bundles.
#[derive(Debug)]
pub(super) struct RepoPage {
    pub(super) repo: GitRepo,
    pub(super) bundles: Vec<Bundle>,
}

/// JSON and YAML contain only the GitRepo, so that `kubectl apply` accepts them.
impl Serialize for RepoPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.repo.serialize(serializer)
    }
}

fn short(commit: &str) -> String {
    or_dash(Some(commit.get(..SHORT_COMMIT).unwrap_or(commit)))
}

fn reference(repo: &GitRepo) -> String {
    match (&*repo.spec.revision, &*repo.spec.branch) {
        ("", "") => "master".to_owned(),
        ("", branch) => branch.to_owned(),
        (revision, _) => short(revision),
    }
}

/// Returns the number of ready clusters and of all clusters.
fn clusters(repo: &GitRepo) -> String {
    let status = repo.status.as_ref();
    status.map_or_else(
        || DASH.to_owned(),
        |it| {
            format!(
                "{}/{}",
                it.base.ready_clusters, it.base.desired_ready_clusters
            )
        },
    )
}

fn created(repo: &GitRepo, now: Timestamp) -> String {
    let created = repo.metadata.creation_timestamp.as_ref();
    created.map_or_else(|| DASH.to_owned(), |created| age(created.0, now))
}

impl Listed for GitRepo {
    const HEADINGS: &'static [&'static str] = &[
        "NAMESPACE",
        "NAME",
        "REPOSITORY",
        "REF",
        "COMMIT",
        "CLUSTERS",
        "STATE",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let commit = self.status.as_ref().map_or("", |status| &status.commit);
        vec![
            or_dash(self.metadata.namespace.as_deref()),
            or_dash(self.metadata.name.as_deref()),
            self.spec.repo.clone(),
            reference(self),
            short(commit),
            clusters(self),
            self.state().word,
            created(self, now),
        ]
    }
}

/// Describes the clusters of a target.
fn target(target: &GitTarget) -> String {
    let mut parts = Vec::new();
    if !target.cluster_name.is_empty() {
        parts.push(format!("cluster {}", target.cluster_name));
    }
    if !target.cluster_group.is_empty() {
        parts.push(format!("group {}", target.cluster_group));
    }
    for (what, selector) in [
        ("clusters", &target.cluster_selector),
        ("groups", &target.cluster_group_selector),
    ] {
        let Some(selector) = selector else {
            continue;
        };
        let labels = selector.match_labels.iter();
        let labels = labels.map(|(key, value)| format!("{key}={value}"));
        let expressions = selector.match_expressions.iter().map(|it| {
            let values = it.values.join(",");
            format!("{} {} ({values})", it.key, it.operator)
        });
        let text: Vec<String> = labels.chain(expressions).collect();
        parts.push(match &text[..] {
            [] => format!("all {what}"),
            text => format!("{what} with {}", text.join(", ")),
        });
    }
    or_dash(Some(&parts.join(" and ")))
}

impl Page for RepoPage {
    fn page(&self, now: Timestamp) -> String {
        let (repo, spec) = (&self.repo, &self.repo.spec);
        let status = repo.status.clone().unwrap_or_default();
        let state = repo.state();
        let since = state.since.parse::<Timestamp>().ok();
        let since = since.map_or_else(String::new, |since| format!(" for {}", age(since, now)));
        let targets: Vec<String> = spec.targets.iter().map(target).collect();
        let targets = match &targets[..] {
            [] => "group default".to_owned(),
            targets => targets.join("; "),
        };
        let polled = status.last_polling_time.as_ref();
        let polled = polled.map(|polled| format!("{} ago", age(polled.0, now)));
        let polling = if spec.disable_polling {
            "only webhooks and requests".to_owned()
        } else {
            format!(
                "every {}",
                spec.polling_interval.as_deref().unwrap_or("15s")
            )
        };
        let mut text = describe(&[
            ("Name", or_dash(repo.metadata.name.as_deref())),
            ("Namespace", or_dash(repo.metadata.namespace.as_deref())),
            ("Repository", spec.repo.clone()),
            ("Branch or revision", reference(repo)),
            ("Paths", or_dash(Some(&spec.paths.join(", ")))),
            ("Targets", targets),
            ("Commit", or_dash(Some(&status.commit))),
            ("Polls", polling),
            ("Last poll", or_dash(polled.as_deref())),
            ("Clusters ready", clusters(repo)),
            ("State", format!("{}{since}", state.word)),
            ("Cause", or_dash(Some(&state.cause))),
        ]);
        if !self.bundles.is_empty() {
            let mut table = Table::new(&["BUNDLE", "CLUSTERS", "STATE", "CAUSE"]);
            for bundle in &self.bundles {
                table.row(&row(bundle));
            }
            // A write to a String does not fail.
            let _ = write!(text, "\n{}", table.render());
        }
        text
    }
}

fn row(bundle: &Bundle) -> Vec<String> {
    let status = bundle.status.clone().unwrap_or_default();
    let ready = condition(&status.conditions, "Ready");
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    let state = match &*status.display.state {
        "" if is_ready => "Ready",
        "" => "Pending",
        state => state,
    };
    let cause = ready.filter(|_| !is_ready).map(|ready| &*ready.message);
    vec![
        or_dash(bundle.metadata.name.as_deref()),
        or_dash(Some(&status.display.ready_clusters)),
        state.to_owned(),
        or_dash(cause),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn page_names_the_cause_of_the_state_and_each_bundle() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let repo: GitRepo = from_value(json!({
            "metadata": { "name": "shop", "namespace": "fleet-default" },
            "spec": {
                "repo": "https://git.example/shop.git",
                "branch": "main",
                "paths": ["deploy"],
                "targets": [
                    { "clusterName": "berlin" },
                    { "clusterSelector": { "matchLabels": { "env": "prod" } } },
                    { "clusterSelector": {} },
                ],
            },
            "status": {
                "commit": "0123456789abcdef0123456789abcdef01234567",
                "lastPollingTriggered": "2026-11-30T11:59:50Z",
                "readyClusters": 1, "desiredReadyClusters": 2,
                "display": { "state": "ErrApplied" },
                "conditions": [{
                    "type": "Ready", "status": "False", "message": "ErrApplied(1) [Cluster fleet-default/b]",
                    "lastTransitionTime": "2026-11-30T11:50:00Z",
                }],
            },
        }))
        .unwrap();
        let bundle = from_value(json!({
            "metadata": { "name": "shop-deploy" },
            "status": {
                "display": { "readyClusters": "1/2", "state": "ErrApplied" },
                "conditions": [{ "type": "Ready", "status": "False", "message": "no such kind" }],
            },
        }));
        let page = RepoPage {
            repo,
            bundles: vec![bundle.unwrap()],
        };
        insta::assert_snapshot!(page.page(now), @r"
        Name:                shop
        Namespace:           fleet-default
        Repository:          https://git.example/shop.git
        Branch or revision:  main
        Paths:               deploy
        Targets:             cluster berlin; clusters with env=prod; all clusters
        Commit:              0123456789abcdef0123456789abcdef01234567
        Polls:               every 15s
        Last poll:           10s ago
        Clusters ready:      1/2
        State:               ErrApplied for 10m
        Cause:               ErrApplied(1) [Cluster fleet-default/b]

        BUNDLE        CLUSTERS   STATE        CAUSE
        shop-deploy   1/2        ErrApplied   no such kind
        ");
    }
}
