use serde_json::{Value, json};

use super::*;
use crate::admission::{self, AdmissionContext, RBAC};

const PERSON: &str = "drover:user:1";
const ACCOUNT: &str = "system:serviceaccount:apps:robot";

/// Returns a default role with labels, an aggregation rule and two rules.
fn role() -> Value {
    json!({
        "metadata": { "labels": {
            "kubernetes.io/bootstrapping": "rbac-defaults",
            "rbac.authorization.k8s.io/aggregate-to-edit": "true",
            "example.com/mine": "x",
        }, "annotations": {} },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] },
        "rules": [
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
        ],
    })
}

fn changed(part: &str, to: Value) -> Value {
    let mut role = role();
    match role.pointer_mut(part) {
        Some(place) => *place = to,
        None => role["metadata"]["ownerReferences"] = to,
    }
    role
}

struct Case<'a> {
    writer: &'a str,
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// A write of the default ClusterRole `view` by a Drover user.
const VIEW: Case<'static> = Case {
    writer: PERSON,
    resource: "clusterroles",
    namespace: "",
    name: "view",
};

impl Case<'_> {
    fn allowed(&self, new: Option<&Value>, old: Option<&Value>) -> bool {
        let write = Write {
            writer: self.writer,
            groups: &[],
            operation: match (new, old) {
                (_, None) => Operation::Create,
                (None, _) => Operation::Delete,
                _ => Operation::Update,
            },
            group: RBAC,
            resource: self.resource,
            subresource: "",
            namespace: self.namespace,
            name: self.name,
            object: new,
            old,
        };
        admission::admit(&write, AdmissionContext::embedded("drover:server"), None).is_ok()
    }
}

#[test]
fn default_role_cannot_be_changed() {
    let stored = role();
    let owner = json!([{ "kind": "ConfigMap", "name": "x", "uid": "1" }]);
    let kept = "/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit";
    for (part, to, allowed) in [
        ("/rules", json!([]), false),
        ("/rules", json!([stored["rules"][1]]), false),
        ("/aggregationRule", Value::Null, false),
        ("/metadata/labels", json!({}), false),
        (kept, json!("false"), false),
        // The deletion of an owner would delete the role.
        ("/metadata/ownerReferences", owner, false),
        (
            "/metadata/annotations",
            json!({ "rbac.authorization.kubernetes.io/autoupdate": "true" }),
            false,
        ),
        // Other labels may change.
        ("/metadata/labels/example.com~1mine", json!("y"), true),
    ] {
        let new = changed(part, to);
        for writer in [PERSON, ACCOUNT] {
            let case = Case { writer, ..VIEW };
            let got = case.allowed(Some(&new), Some(&stored));
            assert_eq!(got, allowed, "{writer} {part}: {new}");
        }
        // Users of the hub without Drover name may change it, as on any hub.
        let jane = Case {
            writer: "jane",
            ..VIEW
        };
        assert!(jane.allowed(Some(&new), Some(&stored)), "{part}");
    }
    assert!(VIEW.allowed(Some(&stored), Some(&stored)));
}

#[test]
fn default_role_cannot_be_deleted_or_replaced() {
    let marked = json!({ "metadata": { "labels": { "kubernetes.io/bootstrapping": "x" } } });
    let plain = json!({});
    let cluster = |name| ("clusterroles", "", name);
    for ((resource, namespace, name), role, allowed) in [
        (cluster("cluster-admin"), &marked, false),
        (cluster("edit"), &plain, false),
        (cluster("system:aggregate-to-edit"), &plain, false),
        // A default role of another Kubernetes version, and a user's own role.
        (cluster("system:new"), &marked, false),
        (cluster("system:metrics-server"), &plain, true),
        (cluster("copy-of-view"), &marked, true),
        (cluster("editor"), &plain, true),
        (
            ("roles", "kube-system", "system:controller:token-cleaner"),
            &plain,
            false,
        ),
        (("roles", "team", "view"), &plain, true),
    ] {
        for writer in [PERSON, ACCOUNT] {
            let case = Case {
                writer,
                resource,
                namespace,
                name,
            };
            assert_eq!(case.allowed(None, Some(role)), allowed, "{writer} {name}");
            assert_eq!(case.allowed(Some(role), None), allowed, "{writer} {name}");
        }
        let jane = Case {
            writer: "jane",
            resource,
            namespace,
            name,
        };
        assert!(jane.allowed(None, Some(role)), "{name}");
    }
}
