use std::collections::BTreeMap;

use drover_api::fleet::{BundleDeploymentStatus, FleetCondition};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NEW: &str = "s-2:b";
const OLD: &str = "s-1:a";

/// State of a cluster in a test.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    labels: BTreeMap<String, String>,
    current: Option<BundleDeployment>,
    paused: bool,
    absent: bool,
}

fn deployed(id: &str, applied: &str, ready: bool) -> BundleDeployment {
    let mut deployment = BundleDeployment::default();
    deployment.spec.staged_deployment_id = id.to_owned();
    deployment.spec.deployment_id = id.to_owned();
    deployment.status = Some(BundleDeploymentStatus {
        applied_deployment_id: applied.to_owned(),
        ready,
        ..BundleDeploymentStatus::default()
    });
    deployment
}

fn members(count: usize, current: Option<&BundleDeployment>) -> Vec<Member> {
    (0..count)
        .map(|index| Member {
            name: format!("c{index:04}"),
            labels: BTreeMap::from([("half".to_owned(), (index % 2).to_string())]),
            current: current.cloned(),
            paused: false,
            absent: false,
        })
        .collect()
}

fn strategy(value: Value) -> RolloutStrategy {
    serde_json::from_value(value).unwrap()
}

fn plan_of(value: Value, members: &[Member]) -> Plan {
    let none = BTreeMap::new();
    let state = |member: &Member| {
        let cluster = format!("ns/{}", member.name);
        DeploymentState::of_target(&cluster, member.current.as_ref(), NEW)
    };
    let states: Vec<DeploymentState> = members.iter().map(state).collect();
    let candidates: Vec<Candidate<'_>> = members
        .iter()
        .zip(&states)
        .map(|(member, state)| Candidate {
            cluster: ClusterFacts {
                namespace: "ns",
                name: &member.name,
                labels: &member.labels,
                annotations: &none,
                template_values: None,
                groups: &[],
            },
            wanted: NEW,
            current: member.current.as_ref(),
            state,
            paused: member.paused,
            absent: member.absent,
        })
        .collect();
    plan(Some(&strategy(value)), &candidates).unwrap()
}

/// Carries out a plan. Agents deploy at once.
fn carry_out(plan: &Plan, members: &mut [Member], healthy: bool) {
    for (step, member) in plan.steps.iter().zip(members) {
        if step.create {
            member.current = Some(BundleDeployment::default());
        }
        let Some(current) = &mut member.current else {
            continue;
        };
        if step.stage {
            current.spec.staged_deployment_id = NEW.to_owned();
        }
        if step.is_released() {
            current
                .spec
                .deployment_id
                .clone_from(&current.spec.staged_deployment_id);
        }
        if !member.absent && healthy {
            let applied_deployment_id = current.spec.deployment_id.clone();
            current.status = Some(BundleDeploymentStatus {
                applied_deployment_id,
                ready: true,
                non_modified: true,
                ..BundleDeploymentStatus::default()
            });
        }
    }
}

fn released(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| step.is_released()).count()
}

#[test]
fn limits_are_rounded_down_to_at_least_one() {
    let int = |number| Some(IntOrString::Int(number));
    let text = |text: &str| Some(IntOrString::String(text.to_owned()));
    for (count, value, expected) in [
        (10, None, 10),
        (0, int(5), 1),
        (10, int(3), 3),
        (10, int(30), 10),
        (10, int(-1), 0),
        (10, int(0), 0),
        (10, text("25%"), 2),
        (10, text("1%"), 1),
        (10, text("0%"), 1),
        (10, text("-5%"), 1),
        (10, text("200%"), 10),
        (3, text("66.7%"), 2),
        (10, text("30"), 30),
    ] {
        assert_eq!(
            limit(count, [value.as_ref()]),
            Ok(expected),
            "{count} {value:?}"
        );
    }
    for invalid in ["0", "a", "a%", "", "inf%"] {
        assert!(limit(10, [text(invalid).as_ref()]).is_err(), "{invalid}");
    }
}

#[test]
fn new_deployments_are_limited_by_max_new() {
    let mut members = members(120, None);
    let plan = plan_of(json!({}), &members);
    assert_eq!((plan.newly_created, released(&plan)), (50, 50));
    assert_eq!(plan.steps[119].wait, Some(Wait::MaxNew(50)));
    carry_out(&plan, &mut members, true);
    assert_eq!(released(&plan_of(json!({ "maxNew": 10 }), &members)), 10);
}

#[test]
fn rollout_stops_at_the_partition_whose_limit_is_exceeded() {
    let mut members = members(400, Some(&deployed(OLD, OLD, true)));
    let value = json!({ "maxUnavailable": "10%" });
    let plan = plan_of(value.clone(), &members);
    assert_eq!(released(&plan), 10);
    let stop = plan.stop.clone().unwrap();
    assert_eq!(
        (
            stop.partition.as_str(),
            stop.unavailable,
            stop.max_unavailable
        ),
        ("Partition 0 - 100", 100, 10)
    );
    assert!(stop.failed.is_empty());
    assert_eq!(
        plan.steps[399].wait,
        Some(Wait::EarlierPartition("Partition 0 - 100".to_owned()))
    );
    carry_out(&plan, &mut members, false);
    members[0]
        .current
        .as_mut()
        .unwrap()
        .status
        .as_mut()
        .unwrap()
        .conditions = vec![FleetCondition {
        type_: "Deployed".to_owned(),
        status: "False".to_owned(),
        ..FleetCondition::default()
    }];
    let plan = plan_of(value, &members);
    assert_eq!(released(&plan), 0);
    assert_eq!(plan.stop.unwrap().failed, ["ns/c0000"]);
}

#[test]
fn paused_clusters_are_staged_and_not_released() {
    let mut members = members(2, Some(&deployed(OLD, OLD, true)));
    members[0].paused = true;
    let plan = plan_of(json!({}), &members);
    assert_eq!(
        plan.steps[0],
        Step {
            stage: true,
            wait: Some(Wait::Paused),
            ..Step::default()
        }
    );
    assert!(plan.steps[1].is_released());
}

#[test]
fn absent_clusters_are_not_counted_and_do_not_stop_a_rollout() {
    let mut members = members(4, Some(&deployed(OLD, OLD, true)));
    for member in &mut members[..2] {
        member.absent = true;
        member.current = Some(deployed(OLD, "", false));
    }
    let value = json!({
        "maxUnavailable": 1,
        "partitions": [{ "clusterName": "c0000" }, { "clusterSelector": {} }]
    });
    let plan = plan_of(value, &members);
    assert_eq!(
        plan.stop.as_ref().map(|stop| stop.partition.as_str()),
        Some("")
    );
    let released: Vec<bool> = plan.steps.iter().map(Step::is_released).collect();
    assert_eq!(released, [true, true, true, false]);
    assert_eq!(plan.unavailable, 1);
}

#[test]
fn clusters_outside_of_configured_partitions_come_last() {
    let members = members(4, None);
    let value = json!({ "partitions": [
        { "name": "one", "clusterSelector": { "matchLabels": { "half": "1" } } },
        { "name": "twice", "clusterName": "c0001" }
    ]});
    let plan = plan_of(value, &members);
    let parts: Vec<(&str, i64)> = plan
        .partitions
        .iter()
        .map(|part| (part.name.as_str(), part.count))
        .collect();
    assert_eq!(parts, [("one", 2), ("twice", 0), ("Remaining clusters", 2)]);
}

fn any_member() -> impl Strategy<Value = Option<BundleDeployment>> {
    prop_oneof![
        Just(None),
        Just(Some(deployed(OLD, OLD, true))),
        Just(Some(deployed(OLD, "", false))),
        Just(Some(deployed(NEW, NEW, true))),
        Just(Some(deployed(NEW, OLD, true))),
    ]
}

fn any_strategy() -> impl Strategy<Value = Value> {
    let number = || {
        prop_oneof![
            (0..8_i32).prop_map(Value::from),
            (0..120_u8).prop_map(|it| json!(format!("{it}%")))
        ]
    };
    (number(), number(), 1..6_i64, 1..6_i64, any::<bool>()).prop_map(|(max, size, threshold, new, manual)| {
        let partitions = if manual { json!([{ "name": "x", "clusterSelector": { "matchLabels": { "half": "1" } } }]) } else { json!([]) };
        json!({
            "maxUnavailable": max, "autoPartitionSize": size, "autoPartitionThreshold": threshold,
            "maxNew": new, "partitions": partitions
        })
    })
}

proptest! {
    #[test]
    fn each_cluster_is_in_one_partition(count in 0..40_usize, value in any_strategy()) {
        let plan = plan_of(value, &members(count, None));
        let total: i64 = plan.partitions.iter().map(|part| part.count).sum();
        prop_assert_eq!(usize::try_from(total).unwrap(), count);
    }

    #[test]
    fn release_of_available_clusters_stays_within_the_limit(
        current in proptest::collection::vec(any_member(), 1..30),
        value in any_strategy(),
    ) {
        let mut members = members(current.len(), None);
        for (member, current) in members.iter_mut().zip(current) {
            member.current = current;
        }
        let plan = plan_of(value, &members);
        let taken = plan.steps.iter().zip(&members).filter(|(step, member)| {
            step.is_released() && member.current.as_ref().is_some_and(|current| !is_unavailable(current))
        });
        let before = unavailable(members.iter().filter_map(|member| member.current.as_ref()));
        prop_assert_eq!(plan.unavailable, before + taken.count());
        prop_assert!(plan.unavailable <= plan.max_unavailable.max(before));
    }

    #[test]
    fn rollout_of_healthy_clusters_reaches_all(
        count in 1..30_usize,
        is_new: bool,
        max in 1..5_i32,
        value in any_strategy(),
    ) {
        let mut value = value;
        value["maxUnavailable"] = json!(max);
        let old = deployed(OLD, OLD, true);
        let mut members = members(count, (!is_new).then_some(&old));
        for _ in 0..3 * count + 3 {
            let plan = plan_of(value.clone(), &members);
            carry_out(&plan, &mut members, true);
        }
        let done = members.iter().filter(|it| it.current.as_ref().is_some_and(|it| it.spec.deployment_id == NEW));
        prop_assert_eq!(done.count(), count);
    }
}
