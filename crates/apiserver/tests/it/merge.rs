//! Tests of merges of built-in kinds, and of properties of all merges.

mod laws;

use std::sync::Arc;

use drover_apiserver::builtin;
use drover_apiserver::merge::{
    ApplyError, ApplyOptions, Managers, MergeKind, PatchError, UpdateOptions, apply, json_patch,
    keep_times, manager_name, merge_patch, strategic, update,
};
use drover_apiserver::status::ApiError;
use serde_json::{Value, json};

const NOON: &str = "2026-11-21T12:00:00Z";

fn kind(group: &str, plural: &str, subresource: &str) -> MergeKind {
    let catalog = builtin::catalog(builtin::Kinds::Cluster);
    let resource = catalog.find(group, "v1", plural).unwrap();
    MergeKind::new(resource, subresource, [Arc::as_ref(resource)])
}

fn by(manager: &str) -> ApplyOptions<'_> {
    ApplyOptions {
        manager,
        force: false,
        now: NOON.parse().unwrap(),
    }
}

fn updated_by(manager: &str) -> UpdateOptions<'_> {
    UpdateOptions {
        manager,
        now: NOON.parse().unwrap(),
    }
}

fn deployment(spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": spec,
    })
}

fn stored(kind: &MergeKind, mut object: Value) -> Value {
    kind.schema.decode(&mut object).unwrap();
    object
}

#[test]
fn create_assigns_ownership_of_all_fields_except_empty_structs() {
    let kind = kind("apps", "deployments", "");
    let mut web = deployment(&json!({
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{
                "name": "web", "image": "web:1",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
            }]},
        },
    }));
    web["metadata"]["labels"] = json!({"app": "web"});
    let mut web = stored(&kind, web);
    update(None, &mut web, &kind, updated_by("kubectl-create"));
    assert_eq!(
        web["metadata"]["managedFields"],
        json!([{
            "manager": "kubectl-create", "operation": "Update", "apiVersion": "apps/v1",
            "time": NOON, "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:replicas": {},
                    "f:selector": {},
                    "f:strategy": {
                        "f:rollingUpdate": {".": {}, "f:maxSurge": {}},
                        "f:type": {},
                    },
                    "f:template": {
                        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                        "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                            ".": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                                    ".": {}, "f:containerPort": {}, "f:protocol": {},
                                },
                            },
                            "f:resources": {},
                        }}},
                    },
                },
            },
        }])
    );
}

#[test]
fn conflict_message_contains_manager_and_field() {
    let kind = kind("apps", "deployments", "");
    let mut live = stored(&kind, deployment(&json!({"replicas": 1, "paused": true})));
    update(None, &mut live, &kind, updated_by("controller"));
    live["metadata"]["uid"] = "1".into();
    let applied = deployment(&json!({"replicas": 3}));
    let error = apply(Some(&live), &applied, &kind, by("me")).unwrap_err();
    assert_eq!(
        ApiError::from(error).to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Apply failed with 1 conflict: conflict with \"controller\" using \
                        apps/v1: .spec.replicas",
            "reason": "Conflict", "code": 409,
            "details": {"causes": [{
                "reason": "FieldManagerConflict",
                "message": "conflict with \"controller\" using apps/v1",
                "field": ".spec.replicas",
            }]},
        })
    );
    let applied = deployment(&json!({"replicas": 3, "paused": false}));
    let error = apply(Some(&live), &applied, &kind, by("me")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 2 conflicts: conflicts with \"controller\" using apps/v1:\n\
         - .spec.paused\n- .spec.replicas"
    );
    let forced = ApplyOptions {
        force: true,
        ..by("me")
    };
    let taken = apply(Some(&live), &applied, &kind, forced).unwrap();
    assert_eq!(taken["spec"]["replicas"], 3);
    let managers = Managers::of(&taken).unwrap();
    assert_eq!(
        managers.iter().count(),
        1,
        "the controller still owns fields"
    );
}

#[test]
fn fields_removed_from_apply_are_deleted_unless_owned_by_a_second_manager() {
    let kind = kind("apps", "deployments", "");
    let containers = |names: &[&str]| -> Value {
        let all = names.iter().map(|name| json!({"name": name, "image": "i"}));
        json!({"template": {"spec": {"containers": all.collect::<Value>()}}})
    };
    let first = deployment(&containers(&["a", "b", "c"]));
    let live = apply(None, &first, &kind, by("one")).unwrap();
    let live = apply(
        Some(&live),
        &deployment(&containers(&["b"])),
        &kind,
        by("two"),
    )
    .unwrap();
    let live = apply(
        Some(&live),
        &deployment(&containers(&["c"])),
        &kind,
        by("one"),
    )
    .unwrap();
    let names: Vec<&Value> = live["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| &container["name"])
        .collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn apply_rejects_managed_fields_and_wrong_kind_and_unknown_field() {
    let kind = kind("", "configmaps", "");
    let mut applied = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    let refused = |applied: &Value| apply(None, applied, &kind, by("me")).unwrap_err();
    assert_eq!(
        refused(&applied),
        ApplyError::BadRequest("invalid object type: /v1, Kind=Secret".to_owned())
    );
    applied["kind"] = "ConfigMap".into();
    applied["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        refused(&applied),
        ApplyError::BadRequest("metadata.managedFields must be nil".to_owned())
    );
    applied["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    applied["unheard"] = json!(1);
    let status = ApiError::from(refused(&applied)).to_value();
    assert_eq!(status["code"], 500);
    assert_eq!(
        status["message"],
        "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .unheard: field not \
         declared in schema"
    );
}

#[test]
fn raw_extension_is_owned_as_a_single_field() {
    let kind = kind("apps", "controllerrevisions", "");
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "x"},
        "revision": 1, "data": {"spec": {"template": {"a": [1]}}},
    });
    let merged = apply(None, &revision, &kind, by("me")).unwrap();
    assert_eq!(
        merged["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:data": {}, "f:revision": {}})
    );
}

#[test]
fn status_fields_receive_owners_only_by_writes_to_the_status_subresource() {
    let (main, status) = (
        kind("apps", "deployments", ""),
        kind("apps", "deployments", "status"),
    );
    let mut web = stored(&main, deployment(&json!({"replicas": 1})));
    web["status"] = json!({"replicas": 5});
    update(None, &mut web, &main, updated_by("me"));
    web["metadata"]["uid"] = "1".into();
    let owned = web["metadata"]["managedFields"].to_string();
    assert!(!owned.contains("f:status"), "{owned}");
    let mut next = web.clone();
    next["status"]["replicas"] = 6.into();
    next["spec"]["replicas"] = 9.into();
    update(Some(&web), &mut next, &status, updated_by("controller"));
    let entry = &next["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "controller");
    assert_eq!(entry["subresource"], "status");
    assert_eq!(entry["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
}

#[test]
fn write_without_changes_retains_managed_fields_times() {
    let old = json!({
        "metadata": {"managedFields": [{"manager": "a", "time": "2026-01-01T00:00:00Z"}]},
        "data": {"a": "b"},
    });
    let mut same = old.clone();
    same["metadata"]["managedFields"][0]["time"] = NOON.into();
    keep_times(&old, &mut same);
    assert_eq!(same, old);
    let mut other = old.clone();
    other["metadata"]["managedFields"][0]["time"] = NOON.into();
    other["data"]["a"] = "c".into();
    keep_times(&old, &mut other);
    assert_eq!(other["metadata"]["managedFields"][0]["time"], NOON);
}

#[test]
fn field_manager_name_is_read_from_the_request_or_user_agent() {
    assert_eq!(manager_name("helm", "kubectl/v1.36.3"), "helm");
    assert_eq!(manager_name("", "kubectl/v1.36.3 (linux/amd64)"), "kubectl");
    assert_eq!(manager_name("", "bad\u{7}name"), "badname");
    assert_eq!(manager_name("", &"ü".repeat(100)).len(), 128);
    let kind = kind("", "configmaps", "");
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"},
    });
    update(None, &mut object, &kind, updated_by(""));
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "unknown");
}

#[test]
fn next_apply_recreates_managed_fields_that_were_cleared() {
    let kind = kind("", "configmaps", "");
    let object = |data: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x", "uid": "1"}, "data": data,
        })
    };
    let live = object(json!({"a": "1"}));
    let mut next = object(json!({"a": "2"}));
    update(Some(&live), &mut next, &kind, updated_by("me"));
    assert!(next["metadata"].get("managedFields").is_none());
    let mut applied = object(json!({"b": "1"}));
    applied["metadata"].as_object_mut().unwrap().remove("uid");
    let merged = apply(Some(&next), &applied, &kind, by("me")).unwrap();
    let managers: Vec<&Value> = merged["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"])
        .collect();
    assert_eq!(managers, ["me", "before-first-apply"]);
}

#[test]
fn json_patch_operations_size_and_depth_are_limited() {
    let none = json!({"op": "test", "path": "/a", "value": null});
    let many: Value = std::iter::repeat_n(none, 10_001).collect();
    let error = json_patch(&json!({}), &many).unwrap_err();
    assert_eq!(error, PatchError::TooManyOperations(10_001));
    let status = ApiError::from(error).to_value();
    assert_eq!(status["code"], 413);
    assert_eq!(
        status["message"],
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got \
         10001"
    );
    let doubled: Value = (0..60)
        .map(|at| json!({"op": "copy", "from": "/a", "path": format!("/a/x{at}")}))
        .collect();
    let error = json_patch(&json!({"a": {"text": "some text"}}), &doubled).unwrap_err();
    assert!(error.to_string().contains("accumulated size"), "{error}");
    let mut path = String::new();
    let deeper: Value = (0..500)
        .map(|_| {
            path.push_str("/a");
            json!({"op": "add", "path": path, "value": {}})
        })
        .collect();
    let error = json_patch(&json!({}), &deeper).unwrap_err();
    assert!(error.to_string().contains("too deep"), "{error}");
}

#[test]
fn patch_errors_are_converted_to_status_codes() {
    let status = |error: PatchError| ApiError::from(error).to_value();
    let failed = json!([{"op": "test", "path": "/a", "value": 1}]);
    assert_eq!(
        status(json_patch(&json!({"a": 2}), &failed).unwrap_err()),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "the server rejected our request due to an error in our request",
            "reason": "Invalid", "code": 422, "details": {},
        })
    );
    let no_list = json_patch(&json!({}), &json!({})).unwrap_err();
    assert_eq!(
        status(no_list)["message"],
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    );
    let no_object = status(merge_patch(&json!({}), &json!([])).unwrap_err());
    assert_eq!(no_object["code"], 400);
    let pod = kind("", "pods", "");
    let unknown = json!({"spec": {"containers": [{"image": "i"}]}});
    let live = json!({"spec": {"containers": [{"name": "a"}]}});
    let error = status(strategic(&live, &unknown, &pod.schema).unwrap_err());
    assert_eq!(error["code"], 500);
    assert_eq!(
        error["message"],
        "map: map[image:i] does not contain declared merge key: name"
    );
    let retain = json!({"spec": {"$retainKeys": "all"}});
    let error = status(strategic(&live, &retain, &pod.schema).unwrap_err());
    assert_eq!(error["code"], 400);
    assert_eq!(error["message"], "invalid patch format of retainKeys");
}

#[test]
fn only_field_manager_kubectl_takes_ownership_of_client_side_applied_fields() {
    let kind = kind("apps", "deployments", "");
    let last = deployment(&json!({"replicas": 1}));
    let mut live = stored(&kind, last.clone());
    let name = "kubectl.kubernetes.io/last-applied-configuration";
    live["metadata"]["annotations"] = json!({name: last.to_string()});
    update(
        None,
        &mut live,
        &kind,
        updated_by("kubectl-client-side-apply"),
    );
    live["metadata"]["uid"] = "1".into();
    let next = deployment(&json!({"replicas": 2}));
    let refused = apply(Some(&live), &next, &kind, by("argocd"));
    assert!(
        matches!(refused, Err(ApplyError::Conflicts(_))),
        "{refused:?}"
    );
    let merged = apply(Some(&live), &next, &kind, by("kubectl")).unwrap();
    assert_eq!(merged["spec"]["replicas"], 2);
    let kept = merged["metadata"]["annotations"][name].as_str().unwrap();
    assert_eq!(
        kept,
        format!("{next}\n"),
        "the annotation does not contain the applied configuration"
    );
}

#[test]
fn merge_of_large_lists_takes_linear_time() {
    let catalog = builtin::catalog(builtin::Kinds::Cluster);
    let pods = catalog.find("", "v1", "pods").unwrap();
    let names = |from: usize| -> Vec<String> {
        (from..from + 60_000)
            .map(|number| format!("n{number}"))
            .collect()
    };
    let live = json!({"metadata": {"finalizers": names(0)}});
    let patch = json!({"metadata": {"finalizers": names(30_000)}});
    let merged = strategic(&live, &patch, &pods.schema).unwrap();
    assert_eq!(
        merged["metadata"]["finalizers"].as_array().unwrap().len(),
        90_000
    );
    let containers = |from: usize| -> Vec<Value> {
        names(from)
            .iter()
            .map(|name| json!({"name": name, "image": "i"}))
            .collect()
    };
    let live = json!({"spec": {"containers": containers(0)}});
    let mut patched = containers(30_000);
    patched.extend(
        names(0)
            .iter()
            .take(100)
            .map(|name| json!({"name": name, "$patch": "delete"})),
    );
    let patch = json!({"spec": {"containers": patched}});
    let merged = strategic(&live, &patch, &pods.schema).unwrap();
    let merged = merged["spec"]["containers"].as_array().unwrap();
    assert_eq!(merged.len(), 89_900);
    assert_eq!(merged.last().unwrap()["name"], "n89999");
}
