use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;

/// Returns metadata with this name, UID and creation time in seconds.
fn object<K: DeserializeOwned>(kind: &str, name: &str, uid: &str, second: i64, spec: &Value) -> K {
    let at = Timestamp::from_second(second).unwrap();
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": uid, "creationTimestamp": at, "generation": 1 },
        "spec": spec,
    });
    serde_json::from_value(whole).unwrap()
}

/// Returns stores with user `ann`, provider `oidc`, cluster `shop` and some roles, all created at
/// second 10.
fn stores() -> Stores {
    let stores = Stores::synced_empty();
    stores
        .users
        .apply(object("User", "ann", "1", 10, &json!({})));
    let oidc = object("AuthProvider", "oidc", "2", 10, &json!({ "enabled": true }));
    stores.auth_providers.apply(oidc);
    stores
        .clusters
        .apply(object("Cluster", "shop", "3", 10, &json!({})));
    for (name, uid, spec) in [
        ("reader", "4", json!({ "context": "Cluster" })),
        ("worker", "5", json!({ "context": "Project" })),
        (
            "broken",
            "6",
            json!({ "context": "Cluster", "inherits": ["nothing"] }),
        ),
    ] {
        let role = object("RoleTemplate", name, uid, 10, &spec);
        stores.role_templates.apply(role);
    }
    let roamer = object("GlobalRole", "roamer", "7", 10, &json!({}));
    stores.global_roles.apply(roamer);
    stores
}

fn in_shop(role: &str, subject: &Value) -> Value {
    json!({ "cluster": { "name": "shop" }, "role": { "name": role }, "subject": subject })
}

fn ann() -> Value {
    json!({ "user": { "name": "ann" } })
}

fn devs() -> Value {
    json!({ "group": { "name": "drover:oidc:devs" } })
}

/// Applies the decided writes to the stores. Returns the writes by object name.
fn write(stores: &Stores) -> Vec<(String, Value)> {
    fn each<K>(store: &Store<K>, changes: Vec<Change<K>>, writes: &mut Vec<(String, Value)>)
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        for Change { object, write } in changes {
            let mut stored = serde_json::to_value(&*object).unwrap();
            let written = match write {
                Write::Patch(patch) => {
                    merge(&mut stored, &patch);
                    patch["spec"].clone()
                }
                Write::Conditions(conditions) => {
                    let [only] = &conditions[..] else {
                        panic!("{conditions:?}")
                    };
                    let binding = json!(format!("{} {}", only.status, only.reason));
                    stored["status"]["conditions"] = json!(conditions);
                    binding
                }
                Write::Delete => {
                    let name = object.meta().name.clone().unwrap();
                    store.remove(&name);
                    writes.push((name, json!("deleted")));
                    continue;
                }
            };
            writes.push((object.meta().name.clone().unwrap(), written));
            store.apply(serde_json::from_value(stored).unwrap());
        }
    }
    let found = find(stores, Timestamp::from_second(100).unwrap());
    let mut writes = Vec::new();
    each(&stores.projects, found.projects, &mut writes);
    each(&stores.global_role_bindings, found.global, &mut writes);
    each(
        &stores.cluster_role_template_bindings,
        found.in_clusters,
        &mut writes,
    );
    each(
        &stores.project_role_template_bindings,
        found.in_projects,
        &mut writes,
    );
    writes
}

fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    for (key, value) in patch {
        merge(&mut into[key], value);
    }
}

fn bind(stores: &Stores, name: &str, second: i64, spec: &Value) {
    let binding = object("ClusterRoleTemplateBinding", name, name, second, spec);
    stores.cluster_role_template_bindings.apply(binding);
}

fn expected_write(name: &str, subject: Value) -> Vec<(String, Value)> {
    vec![(name.to_owned(), subject)]
}

#[test]
fn binding_receives_uids_of_its_references_and_becomes_ready() {
    let stores = stores();
    bind(&stores, "a", 10, &in_shop("reader", &ann()));
    let pins = json!({
        "cluster": { "uid": "3" }, "role": { "uid": "4" }, "subject": { "user": { "uid": "1" } },
    });
    assert_eq!(write(&stores), expected_write("a", pins));
    assert_eq!(write(&stores), expected_write("a", json!("True Given")));
    assert_eq!(
        write(&stores),
        [],
        "the written condition equals the decided one"
    );

    let devs = json!({ "role": { "name": "roamer" }, "subject": devs() });
    let global = object("GlobalRoleBinding", "b", "b", 11, &devs);
    stores.global_role_bindings.apply(global);
    let pins = json!({ "role": { "uid": "7" }, "subject": { "group": { "providerUid": "2" } } });
    assert_eq!(write(&stores), expected_write("b", pins));
    assert_eq!(write(&stores), expected_write("b", json!("True Given")));
    assert_eq!(write(&stores), []);
}

#[test]
fn binding_does_not_reference_object_created_after_the_binding() {
    let stores = stores();
    bind(&stores, "a", 9, &in_shop("reader", &ann()));
    assert_eq!(write(&stores), expected_write("a", json!("False Newer")));
    assert_eq!(write(&stores), []);
    assert!(stores.grants.fresh(&stores).all().is_empty());
}

#[test]
fn recreated_object_receives_no_binding_of_the_deleted_object() {
    let stores = stores();
    bind(&stores, "a", 10, &in_shop("reader", &ann()));
    write(&stores);
    assert_eq!(write(&stores), expected_write("a", json!("True Given")));
    let again = json!({ "context": "Cluster" });
    let again = object("RoleTemplate", "reader", "4 again", 10, &again);
    stores.role_templates.apply(again);
    assert_eq!(write(&stores), expected_write("a", json!("False Gone")));
    assert!(stores.grants.fresh(&stores).all().is_empty());
}

#[test]
fn condition_of_ineffective_binding_contains_the_reason() {
    for (subject, role, expected) in [
        (ann(), "nothing", "False Missing"),
        (ann(), "worker", "False OtherContext"),
        (ann(), "broken", "False RoleUnusable"),
        (
            json!({ "user": { "name": "bob" } }),
            "reader",
            "False Missing",
        ),
        (
            json!({ "group": { "name": "devs" } }),
            "reader",
            "False NoGroup",
        ),
        (json!({}), "reader", "False NoSubject"),
    ] {
        let stores = stores();
        bind(&stores, "a", 10, &in_shop(role, &subject));
        write(&stores);
        assert_eq!(
            write(&stores),
            expected_write("a", json!(expected)),
            "{subject} {role}"
        );
        assert_eq!(write(&stores), []);
    }
}

#[test]
fn binding_of_disabled_subject_is_not_ready() {
    let stores = stores();
    bind(&stores, "a", 10, &in_shop("reader", &ann()));
    bind(&stores, "d", 10, &in_shop("reader", &devs()));
    write(&stores);
    write(&stores);
    let off = json!({ "enabled": false });
    stores.users.apply(object("User", "ann", "1", 10, &off));
    assert_eq!(write(&stores), expected_write("a", json!("False Disabled")));
    let oidc = object("AuthProvider", "oidc", "2", 10, &off);
    stores.auth_providers.apply(oidc);
    assert_eq!(write(&stores), expected_write("d", json!("False Disabled")));
}

#[test]
fn project_uid_is_stored_before_binding_in_project_becomes_ready() {
    let stores = stores();
    let project = |cluster: &str| json!({ "cluster": { "name": cluster } });
    for (name, cluster) in [("p", "shop"), ("q", "later")] {
        let created = object("Project", name, name, 10, &project(cluster));
        stores.projects.apply(created);
        let spec = json!({
            "project": { "name": name }, "role": { "name": "worker" }, "subject": ann(),
        });
        let name = format!("in-{name}");
        let binding = object("ProjectRoleTemplateBinding", &name, &name, 10, &spec);
        stores.project_role_template_bindings.apply(binding);
    }
    let pins = |project: &str| {
        json!({
            "project": { "uid": project }, "role": { "uid": "5" },
            "subject": { "user": { "uid": "1" } },
        })
    };
    let written = |list: [(&str, Value); 4]| list.map(|(name, case)| (name.to_owned(), case));
    assert_eq!(
        write(&stores),
        written([
            ("p", json!({ "cluster": { "uid": "3" } })),
            ("q", json!("False Missing")),
            ("in-p", pins("p")),
            ("in-q", pins("q")),
        ])
    );
    let binding = write(&stores);
    assert_eq!(binding[0], ("in-p".to_owned(), json!("True Given")));
    assert_eq!(
        binding[1],
        ("in-q".to_owned(), json!("False ProjectNotReady"))
    );
    // A cluster that was created in the same second as the project is its cluster.
    let later = object("Cluster", "later", "8", 10, &json!({}));
    stores.clusters.apply(later);
    let dependencies = json!({ "cluster": { "uid": "8" } });
    assert_eq!(write(&stores), expected_write("q", dependencies));
    let binding = write(&stores);
    assert_eq!(binding[0], ("q".to_owned(), json!("Unknown Pending")));
    assert_eq!(binding[1], ("in-q".to_owned(), json!("True Given")));
    assert_eq!(write(&stores), []);
}

#[test]
fn deletion_of_subject_or_scope_deletes_the_binding() {
    for (deleted_objects, again) in [("user", "User"), ("cluster", "Cluster")] {
        let stores = stores();
        bind(&stores, "b", 20, &in_shop("reader", &ann()));
        write(&stores);
        assert_eq!(write(&stores), expected_write("b", json!("True Given")));
        match deleted_objects {
            "user" => stores
                .users
                .apply(object(again, "ann", "11", 30, &json!({}))),
            _ => stores
                .clusters
                .apply(object(again, "shop", "13", 30, &json!({}))),
        }
        assert_eq!(
            write(&stores),
            expected_write("b", json!("deleted")),
            "{deleted_objects}"
        );
        assert!(stores.cluster_role_template_bindings.is_empty());
    }
}
