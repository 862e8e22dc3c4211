use super::*;

fn messages(version: &str, value: &Value) -> Vec<String> {
    let mut found = Findings::default();
    validate(version, value, None, &mut found);
    found.0.iter().map(|one| one.path.clone()).collect()
}

fn autoscaler(spec: &Value) -> Value {
    let mut value = json!({"spec": spec});
    value["spec"]["scaleTargetRef"] =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    value
}

#[test]
fn autoscaler_without_metrics_receives_the_default_cpu_metric() {
    for version in ["v1", "v2"] {
        let mut value = autoscaler(&json!({"maxReplicas": 3}));
        fill(version, &mut value);
        assert_eq!(value["spec"]["minReplicas"], 1);
        assert_eq!(messages(version, &value), [""; 0]);
        if version == "v1" {
            from_v1(&mut value);
        }
        assert_eq!(value["spec"]["metrics"], json!([cpu(80)]));
    }
}

#[test]
fn autoscaler_errors_have_field_paths() {
    for (spec, expected) in [
        (json!({}), "spec.maxReplicas"),
        (
            json!({"minReplicas": 4, "maxReplicas": 3}),
            "spec.maxReplicas",
        ),
        (
            json!({"minReplicas": 0, "maxReplicas": 3}),
            "spec.minReplicas",
        ),
        (
            json!({"maxReplicas": 3, "metrics": [{"type": "Pods"}]}),
            "spec.metrics[0].pods",
        ),
        (
            json!({"maxReplicas": 3, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 0}}}]}),
            "spec.metrics[0].resource.target.averageUtilization",
        ),
        (
            json!({"maxReplicas": 3, "behavior": {"scaleUp": {}}}),
            "spec.behavior.scaleUp.policies",
        ),
    ] {
        assert_eq!(messages("v2", &autoscaler(&spec)), [expected]);
    }
}
