//! The requested, permitted and available amounts of an object.

use drover_rows::usage::Resource;
use serde_json::Value;

use crate::chart::Reference;
use crate::kind::Kind;
use crate::messages::t;
use crate::object::{Object, pod_spec_pointer, read};
use crate::quantity::parse;

/// Returns the reference lines of a resource: requests and limits, or the allocatable amount of a node. The amounts of a workload are the amounts of one pod multiplied by
/// the number of pods.
pub fn references(kind: Kind, object: &Object, resource: Resource) -> Vec<Reference> {
    let value = object.value();
    let resource = match resource {
        Resource::Cpu => "cpu",
        Resource::Memory => "memory",
    };
    if kind == Kind::NODES {
        let allocatable = read::text(value, &format!("/status/allocatable/{resource}"));
        let reference = |value| Reference {
            name: t().metrics.allocatable(),
            value,
        };
        return allocatable
            .and_then(parse)
            .map(reference)
            .into_iter()
            .collect();
    }
    let spec = pod_spec_pointer(kind).unwrap_or_default();
    let pods = pods(kind, value);
    let containers = read::list(value, &format!("{spec}/containers"));
    let amount = |container: &Value, part: &str| {
        read::text(container, &format!("/resources/{part}/{resource}")).and_then(parse)
    };
    let requests = containers.iter().filter_map(|it| amount(it, "requests"));
    let requested: f64 = requests.sum();
    // One container without a limit can use all resources of the node.
    let limits: Option<Vec<f64>> = containers.iter().map(|it| amount(it, "limits")).collect();
    let limit: f64 = limits.unwrap_or_default().iter().sum();
    let all = [
        (t().object.requests(), requested),
        (t().object.limits(), limit),
    ];
    let shown = all.into_iter().map(|(name, amount)| Reference {
        name,
        value: amount * pods,
    });
    shown.filter(|it| it.value > 0.0).collect()
}

/// Returns the number of pods of an object.
#[expect(
    clippy::cast_precision_loss,
    reason = "the number of pods is far below 2^53"
)]
fn pods(kind: Kind, value: &Value) -> f64 {
    let pointer = match kind {
        Kind::PODS => return 1.0,
        Kind::DAEMON_SETS => "/status/currentNumberScheduled",
        Kind::JOBS => "/status/active",
        _ => "/status/replicas",
    };
    read::count(value, pointer) as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(kind: Kind, object: &Object, resource: Resource) -> Vec<(&'static str, f64)> {
        let references = references(kind, object, resource).into_iter();
        references.map(|it| (it.name, it.value)).collect()
    }

    #[test]
    fn limits_are_the_sum_of_all_containers_and_pods() {
        let spec = json!({"containers": [
            {"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": "250m"}, "limits": {"cpu": "1", "memory": "1Gi"}}}]});
        let pod = Object::from(json!({ "spec": spec }));
        let cpu = values(Kind::PODS, &pod, Resource::Cpu);
        assert_eq!(cpu, [("Requests", 0.5), ("Limits", 2.0)]);
        let memory = values(Kind::PODS, &pod, Resource::Memory);
        let gib = f64::from(1_u32 << 30);
        assert_eq!(memory, [("Requests", gib)], "a container without a limit");
        let deployment =
            Object::from(json!({"spec": {"template": {"spec": spec}}, "status": {"replicas": 3}}));
        let cpu = values(Kind::DEPLOYMENTS, &deployment, Resource::Cpu);
        assert_eq!(cpu, [("Requests", 1.5), ("Limits", 6.0)]);
        let node = Object::from(json!({"status": {"allocatable": {"cpu": "3900m"}}}));
        assert_eq!(
            values(Kind::NODES, &node, Resource::Cpu),
            [("Allocatable", 3.9)]
        );
        assert_eq!(values(Kind::NODES, &node, Resource::Memory), []);
    }
}
