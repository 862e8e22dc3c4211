use std::collections::BTreeMap;

use drover_api::fleet::{BundleDeployment, BundleDeploymentStatus, RolloutStrategy};
use drover_gitops::rollout::{Candidate, limit, plan};
use drover_gitops::states::DeploymentState;
use drover_gitops::targeting::ClusterFacts;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases;

#[derive(Deserialize)]
struct Limit {
    count: usize,
    value: Option<IntOrString>,
}

#[test]
fn limits_equal_fleet() {
    for (input, expected) in cases::<Limit, Value>("limits") {
        let found =
            limit(input.count, [input.value.as_ref()]).map_or_else(|_| json!("error"), Value::from);
        assert_eq!(found, expected, "{} {:?}", input.count, input.value);
    }
}

#[derive(Deserialize)]
struct Rollout {
    strategy: Option<RolloutStrategy>,
    count: usize,
    states: Vec<String>,
}

fn deployment(state: &str) -> Option<BundleDeployment> {
    let (id, applied, ready) = match state {
        "none" => return None,
        "broken" => ("old", "old", false),
        "new" => ("new", "new", true),
        "updating" => ("new", "old", true),
        _ => ("old", "old", true),
    };
    let mut deployment = BundleDeployment::default();
    id.clone_into(&mut deployment.spec.staged_deployment_id);
    id.clone_into(&mut deployment.spec.deployment_id);
    deployment.status = Some(BundleDeploymentStatus {
        applied_deployment_id: applied.to_owned(),
        ready,
        ..BundleDeploymentStatus::default()
    });
    Some(deployment)
}

#[test]
fn rollout_steps_equal_fleet() {
    for (input, expected) in cases::<Rollout, Value>("rollouts") {
        let none = BTreeMap::new();
        let members: Vec<_> = (0..input.count)
            .map(|index| {
                let labels = BTreeMap::from([("half".to_owned(), (index % 2).to_string())]);
                let state = &input.states[index % input.states.len()];
                let (name, current) = (format!("c{index:04}"), deployment(state));
                let cluster = format!("ns/{name}");
                let state = DeploymentState::of_target(&cluster, current.as_ref(), "new");
                (name, labels, current, state)
            })
            .collect();
        let candidates: Vec<_> = members
            .iter()
            .map(|(name, labels, current, state)| Candidate {
                cluster: ClusterFacts {
                    namespace: "ns",
                    name,
                    labels,
                    annotations: &none,
                    template_values: None,
                    groups: &[],
                },
                wanted: "new",
                current: current.as_ref(),
                state,
                paused: false,
                absent: false,
            })
            .collect();
        let found = match plan(input.strategy.as_ref(), &candidates) {
            Err(_) => json!("error"),
            Ok(plan) => {
                let ids = plan
                    .steps
                    .iter()
                    .zip(&members)
                    .map(|(step, (_, _, current, _))| {
                        let spec = current.as_ref().map(|current| &current.spec);
                        if spec.is_none() && !step.create {
                            return "-".to_owned();
                        }
                        let old = |text: Option<&String>| text.cloned().unwrap_or_default();
                        let staged = if step.stage {
                            "new".to_owned()
                        } else {
                            old(spec.map(|spec| &spec.staged_deployment_id))
                        };
                        let released = if step.is_released() {
                            staged.clone()
                        } else {
                            old(spec.map(|spec| &spec.deployment_id))
                        };
                        format!("{staged}/{released}")
                    });
                let partitions = plan
                    .partitions
                    .iter()
                    .map(|part| json!([part.name, part.count, part.max_unavailable]));
                json!({
                    "ids": ids.collect::<Vec<_>>().join(" "),
                    "partitions": partitions.collect::<Vec<_>>(),
                    "unavailable": plan.unavailable,
                    "maxUnavailable": plan.max_unavailable,
                    "newlyCreated": plan.newly_created,
                    "unavailablePartitions": plan.unavailable_partitions,
                    "maxUnavailablePartitions": plan.max_unavailable_partitions,
                })
            }
        };
        assert_eq!(
            found, expected,
            "{:?} {} {:?}",
            input.strategy, input.count, input.states
        );
    }
}
