#![expect(
    clippy::needless_pass_by_value,
    reason = "json! values are more readable as arguments by value"
)]

use drover_api::kinds::ProjectSpec;
use serde_json::{Value, json};

use super::*;

fn project(count: usize, more: Value) -> ProjectSpec {
    let namespaces: Vec<_> = (0..count)
        .map(|n| json!({"name": format!("n{n}")}))
        .collect();
    let mut spec = json!({"cluster": {"name": "a"}, "namespaces": namespaces});
    let more = more.as_object().cloned().unwrap();
    spec.as_object_mut().unwrap().extend(more);
    serde_json::from_value(spec).unwrap()
}

fn quota(project: Value, namespace: Value) -> Value {
    json!({"quota": {"project": project, "namespace": namespace}})
}

fn defaults(requests: Value, limits: Value) -> Value {
    json!({"containerDefaults": {"requests": requests, "limits": limits}})
}

#[test]
fn project_is_valid_if_its_quota_covers_all_namespace_quotas() {
    for (case, count, more) in [
        ("nothing", 3, json!({})),
        (
            "namespaces alone",
            3,
            quota(json!({}), json!({"pods": "4"})),
        ),
        (
            "the exact quota of the project",
            3,
            quota(json!({"pods": "12"}), json!({"pods": "4"})),
        ),
        (
            "the same quantity in another notation",
            2,
            quota(
                json!({"requests.cpu": "1"}),
                json!({"requests.cpu": "500m"}),
            ),
        ),
        (
            "binary",
            4,
            quota(
                json!({"requests.memory": "4Gi"}),
                json!({"requests.memory": "1024Mi"}),
            ),
        ),
        (
            "no namespaces yet",
            0,
            quota(json!({"pods": "1"}), json!({"pods": "4"})),
        ),
        (
            "defaults",
            1,
            defaults(
                json!({"cpu": "100m"}),
                json!({"cpu": "0.1", "memory": "1Gi"}),
            ),
        ),
    ] {
        assert_eq!(check(&project(count, more)), Ok(()), "{case}");
    }
}

#[test]
fn quota_error_contains_the_field_and_the_conflicting_amounts() {
    for (count, more, words) in [
        (
            4,
            quota(json!({"pods": "12"}), json!({"pods": "4"})),
            &[
                "spec.quota.project",
                "project quota of 12 for \"pods\"",
                "4 namespace quotas of 4",
            ][..],
        ),
        (
            1,
            quota(json!({"pods": "12", "secrets": "1"}), json!({"pods": "4"})),
            &["spec.quota.namespace", "\"secrets\""],
        ),
        (
            1,
            quota(json!({}), json!({"requests.cpu": "many"})),
            &[
                "spec.quota.namespace[\"requests.cpu\"]",
                "\"many\"",
                "not a quantity",
            ],
        ),
        (
            1,
            quota(json!({"pods": "-1"}), json!({"pods": "-1"})),
            &["spec.quota.project[\"pods\"]", "is negative"],
        ),
        (
            1,
            defaults(json!({"cpu": "2"}), json!({"cpu": "1500m"})),
            &[
                "spec.containerDefaults.requests",
                "default request 2 of \"cpu\"",
                "limit 1500m",
            ],
        ),
        (
            1,
            defaults(json!({}), json!({"memory": "1Zi"})),
            &[
                "spec.containerDefaults.limits[\"memory\"]",
                "not a quantity",
            ],
        ),
        (
            500,
            quota(json!({"pods": "1e19"}), json!({"pods": "1e19"})),
            &["500 namespace quotas of 1e19"],
        ),
    ] {
        let refused = check(&project(count, more)).unwrap_err().to_string();
        for word in words {
            assert!(refused.contains(word), "{word} is not in: {refused}");
        }
    }
}
