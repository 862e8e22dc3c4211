use drover_api::fleet::{
    BundleDeployment, BundleDeploymentStatus, BundleSummary, ClusterGroupStatus, FleetCluster,
    FleetClusterStatus, FleetCondition, ModifiedStatus, ResourceCounts, StatusBase,
};
use proptest::prelude::*;

use super::*;

fn deployment(
    staged: &str,
    wanted: &str,
    applied: &str,
    ready: bool,
    clean: bool,
) -> BundleDeployment {
    let mut deployment = BundleDeployment::default();
    deployment.spec.staged_deployment_id = staged.to_owned();
    deployment.spec.deployment_id = wanted.to_owned();
    deployment.status = Some(BundleDeploymentStatus {
        applied_deployment_id: applied.to_owned(),
        ready,
        non_modified: clean,
        ..BundleDeploymentStatus::default()
    });
    deployment
}

fn condition(name: &str, status: &str, message: &str) -> FleetCondition {
    FleetCondition {
        type_: name.to_owned(),
        status: status.to_owned(),
        message: message.to_owned(),
        ..FleetCondition::default()
    }
}

#[test]
fn first_matching_state_applies() {
    let state =
        |deployment: &BundleDeployment| state_of(deployment, &deployment.spec.deployment_id);
    assert_eq!(
        state(&deployment("b", "a", "", false, false)),
        State::WaitApplied
    );
    let mut failed = deployment("b", "b", "a", true, true);
    failed
        .status
        .as_mut()
        .unwrap()
        .conditions
        .push(condition("Deployed", "False", "cause"));
    assert_eq!(state(&failed), State::ErrApplied);
    assert_eq!(message_of(&failed, "b"), "cause");
    assert_eq!(
        state(&deployment("b", "a", "a", false, true)),
        State::NotReady
    );
    assert_eq!(
        state(&deployment("b", "a", "a", true, false)),
        State::OutOfSync
    );
    assert_eq!(
        state(&deployment("a", "a", "a", true, false)),
        State::Modified
    );
    assert_eq!(state(&deployment("a", "a", "a", true, true)), State::Ready);
    assert_eq!(
        state_of(&deployment("a", "a", "a", true, true), "b"),
        State::WaitApplied
    );
    assert_eq!(
        DeploymentState::of_target("ns/c", None, "a").state,
        State::Pending
    );
}

#[test]
fn message_of_an_older_installation_is_not_shown() {
    let mut old = deployment("b", "b", "a", true, true);
    old.status
        .as_mut()
        .unwrap()
        .conditions
        .push(condition("Installed", "False", "old"));
    assert_eq!(message_of(&old, "b"), "");
    assert_eq!(message_of(&old, "a"), "old");
}

#[test]
fn ready_message_names_one_cause_for_each_state() {
    let mut aggregate = Aggregate::default();
    let mut entry = DeploymentState::of_target("ns/a", None, "x");
    aggregate.set("a", entry.clone());
    aggregate.set("b", entry.clone());
    entry.state = State::Modified;
    entry.name = "ns/c".to_owned();
    entry.message = "why".to_owned();
    entry.modified = vec![ModifiedStatus {
        kind: "ConfigMap".to_owned(),
        api_version: "v1".to_owned(),
        namespace: "n".to_owned(),
        name: "m".to_owned(),
        create: true,
        ..ModifiedStatus::default()
    }];
    aggregate.set("c", entry);
    assert_eq!(
        aggregate.ready_message("Cluster"),
        "Modified(1) [Cluster ns/c: why]; Pending(2) [Cluster ns/a]; configmap.v1 n/m missing"
    );
    assert_eq!(
        (aggregate.state(), aggregate.message()),
        (Some(State::Modified), "why")
    );
}

#[test]
fn equal_condition_is_not_written_again() {
    let mut conditions = Vec::new();
    assert!(ready_condition(&mut conditions, "", "1"));
    assert!(!ready_condition(&mut conditions, "", "2"));
    assert!(ready_condition(&mut conditions, "a", "3"));
    assert!(ready_condition(&mut conditions, "b", "4"));
    let times = [
        &conditions[0].last_update_time,
        &conditions[0].last_transition_time,
    ];
    assert_eq!(times, ["4", "3"]);
}

#[test]
fn group_lists_at_most_ten_clusters() {
    let mut group = GroupAggregate::default();
    for index in 0..12 {
        let mut cluster = FleetCluster::default();
        cluster.metadata.name = Some(format!("c{index:02}"));
        let summary = BundleSummary {
            desired_ready: 2,
            ready: 1,
            not_ready: 1,
            ..BundleSummary::default()
        };
        cluster.status = Some(FleetClusterStatus {
            summary,
            ..FleetClusterStatus::default()
        });
        group.set(&cluster);
    }
    group.remove("c00");
    let mut status = ClusterGroupStatus::default();
    group.write_status(&mut status, "now");
    assert_eq!(
        (status.cluster_count, status.non_ready_cluster_count),
        (11, 11)
    );
    assert_eq!(status.non_ready_clusters.len(), 10);
    assert!(status.display.ready_clusters.starts_with("0/11 (c01,"));
    assert_eq!(status.display.state, "NotReady");
}

#[test]
fn git_repo_of_a_cluster_is_ready_if_all_its_deployments_are_ready() {
    let member = |repo: &str, ready: bool| {
        let mut member = deployment("a", "a", "a", ready, true);
        let labels = [("repo-name", repo), ("bundle-namespace", "ns")];
        let labels =
            labels.map(|(key, value)| (format!("fleet.cattle.io/{key}"), value.to_owned()));
        member.metadata.labels = Some(labels.into());
        DeploymentState::of_member(&member)
    };
    let mut aggregate = Aggregate::default();
    aggregate.set("1", member("a", true));
    aggregate.set("2", member("a", false));
    aggregate.set("3", member("b", true));
    let mut status = FleetClusterStatus::default();
    aggregate.write_cluster_status(&mut status);
    let message = aggregate.ready_message("Bundle");
    ready_condition(&mut status.conditions, &message, "now");
    assert_eq!(
        (status.ready_git_repos, status.desired_ready_git_repos),
        (1, 2)
    );
    assert_eq!(status.display.ready_bundles, "2/3");
    assert_eq!(status.display.state, "WaitCheckIn");
    assert_eq!(status.conditions[0].status, "False");
}

#[derive(Clone, Debug)]
enum Change {
    Set(u8, u8, u8),
    Remove(u8),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0..20_u8, 0..7_u8, 0..5_u8).prop_map(|(key, state, cluster)| Change::Set(key, state, cluster)),
        1 => (0..20_u8).prop_map(Change::Remove),
    ]
}

fn entry(state: u8, cluster: u8) -> DeploymentState {
    let state = State::ALL[usize::from(state)];
    let cluster = if cluster == 0 {
        String::new()
    } else {
        format!("ns/{cluster}")
    };
    DeploymentState {
        name: format!("name-{cluster}"),
        message: format!("message of {}", state.name()),
        counts: ResourceCounts {
            ready: 1,
            desired_ready: i64::from(state != State::Ready),
            ..ResourceCounts::default()
        },
        ..DeploymentState {
            cluster: cluster.clone(),
            state,
            ..DeploymentState::of_target(&cluster, None, "")
        }
    }
}

/// Computes the status from all entries, as Fleet does.
fn recomputed(entries: &std::collections::BTreeMap<u8, DeploymentState>) -> StatusBase {
    let mut status = StatusBase::default();
    let mut clusters: std::collections::BTreeMap<&str, Vec<State>> =
        std::collections::BTreeMap::default();
    let mut worst: Option<&DeploymentState> = None;
    for entry in entries.values() {
        let summary = &mut status.summary;
        summary.desired_ready += 1;
        *match entry.state {
            State::Ready => &mut summary.ready,
            State::NotReady => &mut summary.not_ready,
            State::Pending => &mut summary.pending,
            State::OutOfSync => &mut summary.out_of_sync,
            State::Modified => &mut summary.modified,
            State::WaitApplied => &mut summary.wait_applied,
            State::ErrApplied => &mut summary.err_applied,
        } += 1;
        if entry.state != State::Ready {
            if summary.non_ready_resources.len() < 10 {
                summary
                    .non_ready_resources
                    .push(drover_api::fleet::NonReadyResource {
                        name: entry.name.clone(),
                        state: entry.state.name().to_owned(),
                        message: entry.message.clone(),
                        ..Default::default()
                    });
            }
            if worst.is_none_or(|worst| entry.state > worst.state) {
                worst = Some(entry);
            }
        }
        status.resource_counts.ready += entry.counts.ready;
        status.resource_counts.desired_ready += entry.counts.desired_ready;
        if !entry.cluster.is_empty() {
            clusters
                .entry(&entry.cluster)
                .or_default()
                .push(entry.state);
            let counts = status
                .per_cluster_resource_counts
                .entry(entry.cluster.clone())
                .or_default();
            counts.ready += entry.counts.ready;
            counts.desired_ready += entry.counts.desired_ready;
        }
    }
    status.desired_ready_clusters = clusters.len().try_into().unwrap();
    let ready = clusters
        .values()
        .filter(|states| states.iter().all(|it| *it == State::Ready));
    status.ready_clusters = ready.count().try_into().unwrap();
    status.display.ready_bundle_deployments =
        format!("{}/{}", status.summary.ready, status.summary.desired_ready);
    if let Some(worst) = worst {
        status.display.state = worst.state.name().to_owned();
        status.display.message.clone_from(&worst.message);
        status.display.error = true;
    }
    status
}

proptest! {
    #[test]
    fn incremental_status_equals_full_recomputation(changes in proptest::collection::vec(any_change(), 0..80)) {
        let mut aggregate = Aggregate::default();
        let mut entries = std::collections::BTreeMap::new();
        for change in changes {
            match change {
                Change::Set(key, state, cluster) => {
                    aggregate.set(&format!("{key:03}"), entry(state, cluster));
                    entries.insert(key, entry(state, cluster));
                }
                Change::Remove(key) => {
                    let removed = aggregate.remove(&format!("{key:03}"));
                    prop_assert_eq!(removed, entries.remove(&key).is_some());
                }
            }
            let mut status = StatusBase::default();
            aggregate.write_status(&mut status);
            prop_assert_eq!(&status, &recomputed(&entries));
            // The names of clusters are the keys.
            let named = entries.iter().map(|(key, entry)| DeploymentState {
                name: format!("{key:03}"),
                ..entry.clone()
            });
            let named: Vec<DeploymentState> = named.collect();
            let mut summary = summarize(named.iter());
            for (found, expected) in
                summary.non_ready_resources.iter_mut().zip(&status.summary.non_ready_resources)
            {
                found.name.clone_from(&expected.name);
            }
            prop_assert_eq!(summary, status.summary);
        }
    }
}
