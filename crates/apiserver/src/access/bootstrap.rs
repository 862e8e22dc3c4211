//! Roles and bindings that the server creates at its first start, and updates at later starts.
//!
//! `bootstrap.json` contains the objects that kube-apiserver v1.36.3 creates in an empty store. The
//! file does not contain the `system:controller:` roles, because the server's controllers run in
//! the same process and need no roles.

use drover_rbac::{Rule, missing};
use serde_json::{Map, Value, json};

use super::rbac::{GROUP, RbacKind, RoleRef};

const POLICY: &str = include_str!("bootstrap.json");
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// A role or binding that the server creates when it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapObject {
    /// The kind of the object: Role, ClusterRole, RoleBinding or ClusterRoleBinding.
    pub kind: RbacKind,
    /// The namespace of the object. Empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object: `metadata.name`.
    pub name: String,
    /// The object to create.
    pub object: Value,
}

/// The write that makes a stored object equal to the expected object.
#[derive(Debug, Clone, PartialEq)]
pub enum Reconciled {
    /// The stored object is up to date. No write is necessary.
    Nothing,
    /// The annotation `rbac.authorization.kubernetes.io/autoupdate` of the stored object forbids
    /// updates.
    Protected,
    /// Create the object, because no object with its name is stored.
    Create(Value),
    /// Replace the stored object with this object.
    Update(Value),
    /// Delete the stored binding and create this binding, because the role of a binding is
    /// immutable.
    Recreate(Value),
}

/// Returns all bootstrap roles and bindings. Each role is before the bindings that refer to it.
pub fn bootstrap_objects() -> Vec<BootstrapObject> {
    let policy = policy();
    [
        RbacKind::ClusterRole,
        RbacKind::ClusterRoleBinding,
        RbacKind::Role,
        RbacKind::RoleBinding,
    ]
    .into_iter()
    .flat_map(|kind| {
        let list = policy[kind.resource()]
            .as_array()
            .cloned()
            .unwrap_or_default();
        list.into_iter().map(move |entry| whole(kind, &entry))
    })
    .collect()
}

fn policy() -> Value {
    serde_json::from_str(POLICY)
        .expect("bootstrap.json is valid JSON, which the tests of this module check")
}

fn whole(kind: RbacKind, entry: &Value) -> BootstrapObject {
    let part = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let (name, namespace) = (part("name"), part("namespace"));
    let mut labels = entry["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(
        "kubernetes.io/bootstrapping".to_owned(),
        "rbac-defaults".into(),
    );
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind.name(),
        "metadata": { "name": name, "labels": labels, "annotations": { AUTO_UPDATE: "true" } },
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.as_str().into();
    }
    for key in ["aggregationRule", "rules", "roleRef", "subjects"] {
        if let Some(value) = entry.get(key) {
            object[key] = value.clone();
        }
    }
    BootstrapObject {
        kind,
        namespace,
        name,
        object,
    }
}

/// Compares a stored object with the expected object, and returns the required write. The write
/// preserves additional rules and subjects in the stored object.
pub fn reconcile(expected: &BootstrapObject, stored: Option<&Value>) -> Reconciled {
    let Some(stored) = stored else {
        return Reconciled::Create(expected.object.clone());
    };
    let protected = stored["metadata"]["annotations"][AUTO_UPDATE] == "false";
    if expected.kind.binds() && RoleRef::parse(stored) != RoleRef::parse(&expected.object) {
        return if protected {
            Reconciled::Protected
        } else {
            Reconciled::Recreate(expected.object.clone())
        };
    }
    let mut merged = stored.clone();
    for key in ["labels", "annotations"] {
        adopt(
            &mut merged["metadata"],
            key,
            &expected.object["metadata"][key],
        );
    }
    if expected.kind.binds() {
        append_missing(&mut merged, "subjects", &expected.object["subjects"]);
    } else {
        add_missing_rules(&mut merged, &expected.object);
        merge_aggregation(&mut merged, &expected.object);
    }
    if merged == *stored {
        Reconciled::Nothing
    } else if protected {
        Reconciled::Protected
    } else {
        Reconciled::Update(merged)
    }
}

/// Adds missing labels or annotations. Does not change existing values.
fn adopt(metadata: &mut Value, key: &str, expected: &Value) {
    let mut merged = expected.as_object().cloned().unwrap_or_default();
    if let Some(own) = metadata[key].as_object() {
        merged.extend(own.clone());
    }
    metadata[key] = Value::Object(merged);
}

fn add_missing_rules(merged: &mut Value, expected: &Value) {
    let missing = missing(&Rule::parse_all(merged), &Rule::parse_all(expected));
    if missing.is_empty() {
        return;
    }
    let mut rules = merged["rules"].as_array().cloned().unwrap_or_default();
    rules.extend(missing.iter().map(Rule::to_value));
    merged["rules"] = rules.into();
}

fn merge_aggregation(merged: &mut Value, expected: &Value) {
    let Some(object) = merged.as_object_mut() else {
        return;
    };
    match expected.get("aggregationRule") {
        None => {
            object.remove("aggregationRule");
        }
        Some(rule) => {
            let own = object
                .entry("aggregationRule")
                .or_insert_with(|| Value::Object(Map::new()));
            append_missing(own, "clusterRoleSelectors", &rule["clusterRoleSelectors"]);
        }
    }
}

fn append_missing(object: &mut Value, key: &str, expected: &Value) {
    let own = object[key].as_array().cloned().unwrap_or_default();
    let added: Vec<Value> = expected
        .as_array()
        .into_iter()
        .flatten()
        .filter(|item| !own.contains(item))
        .cloned()
        .collect();
    if !added.is_empty() {
        object[key] = own.into_iter().chain(added).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Attributes, Authorizer, Caller, Rbac, Target};

    fn named(kind: RbacKind, name: &str) -> BootstrapObject {
        bootstrap_objects()
            .into_iter()
            .find(|object| object.kind == kind && object.name == name)
            .unwrap()
    }

    fn fresh_index() -> Rbac {
        let objects = bootstrap_objects();
        let rbac = Rbac::new();
        rbac.reset(objects.iter().map(|object| (object.kind, &object.object)));
        rbac
    }

    #[test]
    fn bootstrap_bindings_refer_to_bootstrap_roles() {
        let objects = bootstrap_objects();
        for binding in objects.iter().filter(|object| object.kind.binds()) {
            let role = RoleRef::parse(&binding.object);
            assert!(
                objects.iter().any(|object| {
                    object.kind.name() == role.kind
                        && object.name == role.name
                        && (object.namespace.is_empty() || object.namespace == binding.namespace)
                }),
                "{} refers to the missing role {role:?}",
                binding.name
            );
        }
        assert_eq!(objects.len(), 31 + 12 + 3 + 3);
    }

    #[test]
    fn anonymous_users_can_read_the_version_and_authenticated_users_can_read_discovery() {
        let rbac = fresh_index();
        let path = |caller: &Caller, path: &'static str| {
            let target = Target::Path(path);
            rbac.authorize(&Attributes {
                caller,
                verb: "get",
                target,
            })
            .allowed
        };
        let nobody = Caller::anonymous();
        let someone = Caller::user("u", ["system:authenticated"]);
        assert!(path(&nobody, "/version") && path(&someone, "/version"));
        assert!(!path(&nobody, "/apis") && path(&someone, "/apis/apps"));
        assert!(!path(&someone, "/metrics"));
        let (rules, error) = rbac.rules_for(&someone, "default");
        assert_eq!(error, "");
        assert!(
            rules
                .iter()
                .any(|rule| rule.resources.contains(&"selfsubjectreviews".to_owned()))
        );
    }

    #[test]
    fn unchanged_bootstrap_object_is_not_written() {
        for object in bootstrap_objects() {
            assert_eq!(
                reconcile(&object, Some(&object.object)),
                Reconciled::Nothing,
                "{}",
                object.name
            );
            assert_eq!(
                reconcile(&object, None),
                Reconciled::Create(object.object.clone())
            );
        }
    }

    #[test]
    fn bootstrap_role_update_restores_removed_rules_and_retains_added_rules() {
        let expected = named(RbacKind::ClusterRole, "system:kube-dns");
        let mut stored = expected.object.clone();
        let own = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        stored["rules"] = json!([own]);
        stored["metadata"]["labels"]["mine"] = "yes".into();
        let Reconciled::Update(updated) = reconcile(&expected, Some(&stored)) else {
            panic!("the role with missing rules is not updated");
        };
        let rules = Rule::parse_all(&updated);
        assert_eq!(rules[0], Rule::parse(&own));
        assert_eq!(missing(&rules, &Rule::parse_all(&expected.object)), []);
        assert_eq!(updated["metadata"]["labels"]["mine"], "yes");
    }

    #[test]
    fn annotation_autoupdate_false_prevents_bootstrap_update() {
        let expected = named(RbacKind::ClusterRole, "system:discovery");
        let mut stored = expected.object.clone();
        stored["rules"] = json!([]);
        stored["metadata"]["annotations"][AUTO_UPDATE] = "false".into();
        assert_eq!(reconcile(&expected, Some(&stored)), Reconciled::Protected);
    }

    #[test]
    fn bootstrap_binding_to_wrong_role_is_recreated_and_missing_subjects_are_restored() {
        let expected = named(RbacKind::ClusterRoleBinding, "system:public-info-viewer");
        let mut stored = expected.object.clone();
        stored["subjects"] = json!([{"kind": "User", "name": "x"}]);
        let Reconciled::Update(updated) = reconcile(&expected, Some(&stored)) else {
            panic!("the binding with missing subjects is not updated");
        };
        assert_eq!(updated["subjects"].as_array().unwrap().len(), 3);
        stored["roleRef"]["name"] = "cluster-admin".into();
        assert_eq!(
            reconcile(&expected, Some(&stored)),
            Reconciled::Recreate(expected.object.clone())
        );
    }

    #[test]
    fn bootstrap_update_retains_rules_of_aggregated_role() {
        let expected = named(RbacKind::ClusterRole, "view");
        let mut stored = expected.object.clone();
        stored["rules"] = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
        assert_eq!(reconcile(&expected, Some(&stored)), Reconciled::Nothing);
        stored["aggregationRule"] = json!({"clusterRoleSelectors": []});
        let Reconciled::Update(updated) = reconcile(&expected, Some(&stored)) else {
            panic!("the role with a missing selector is not updated");
        };
        assert_eq!(
            updated["aggregationRule"],
            expected.object["aggregationRule"]
        );
    }
}
