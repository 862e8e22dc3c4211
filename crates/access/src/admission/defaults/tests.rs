use serde_json::{Value, json};

use super::*;
use crate::admission::{self, Asker, RBAC};

const PERSON: &str = "drover:user:1";
const ACCOUNT: &str = "system:serviceaccount:apps:robot";

/// A default role with rules that let nobody in.
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

/// A default role that nobody but Kubernetes should make less.
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
        admission::admit(&write, Asker::embedded("drover:server"), None).is_ok()
    }
}

#[test]
fn a_role_that_kubernetes_restores_stays_what_it_is() {
    let stored = role();
    let owner = json!([{ "kind": "ConfigMap", "name": "x", "uid": "1" }]);
    let kept = "/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit";
    for (part, to, allowed) in [
        ("/rules", json!([]), false),
        ("/rules", json!([stored["rules"][1]]), false),
        ("/aggregationRule", Value::Null, false),
        ("/metadata/labels", json!({}), false),
        (kept, json!("false"), false),
        // With an owner it would go.
        ("/metadata/ownerReferences", owner, false),
        (
            "/metadata/annotations",
            json!({ "rbac.authorization.kubernetes.io/autoupdate": "true" }),
            false,
        ),
        // Labels of one's own come and go.
        ("/metadata/labels/example.com~1mine", json!("y"), true),
    ] {
        let new = changed(part, to);
        for writer in [PERSON, ACCOUNT] {
            let case = Case { writer, ..VIEW };
            let got = case.allowed(Some(&new), Some(&stored));
            assert_eq!(got, allowed, "{writer} {part}: {new}");
        }
        // Whoever only the hub knows may, as on any hub.
        let jane = Case {
            writer: "jane",
            ..VIEW
        };
        assert!(jane.allowed(Some(&new), Some(&stored)), "{part}");
    }
    assert!(VIEW.allowed(Some(&stored), Some(&stored)));
}

#[test]
fn nobody_deletes_a_role_that_kubernetes_restores_or_takes_its_place() {
    let marked = json!({ "metadata": { "labels": { "kubernetes.io/bootstrapping": "x" } } });
    let plain = json!({});
    let cluster = |name| ("clusterroles", "", name);
    for ((resource, namespace, name), role, allowed) in [
        (cluster("cluster-admin"), &marked, false),
        (cluster("edit"), &plain, false),
        (cluster("system:aggregate-to-edit"), &plain, false),
        // Of another version of Kubernetes, and of somebody else.
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
