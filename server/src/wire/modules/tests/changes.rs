//! Tests of concurrent changes of one object.

use std::collections::BTreeMap;

use drover_api::kinds::{GlobalRole, GlobalRoleBinding, Project, RoleTemplate};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

/// A fake hub that stores objects by path. The test itself adds objects to the server's stores.
#[derive(Clone, Default)]
pub(super) struct FakeHub(Arc<Mutex<BTreeMap<String, Value>>>);

impl FakeHub {
    pub(super) fn put(&self, plural: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap();
        self.0.lock().insert(path_of(plural, name), object.clone());
    }

    pub(super) fn get<K: DeserializeOwned>(&self, plural: &str, name: &str) -> Option<K> {
        let hub = self.0.lock().get(&path_of(plural, name)).cloned();
        hub.map(|object| serde_json::from_value(object).unwrap())
    }

    pub(super) fn client(&self) -> kube::Client {
        let hub = self.clone();
        let service = tower::service_fn(move |request: Request<KubeBody>| {
            let hub = hub.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let (code, said) = hub.answer(&parts.method, parts.uri.path(), body);
                let mut response =
                    http::Response::new(KubeBody::from(said.to_string().into_bytes()));
                *response.status_mut() = code;
                Ok::<_, tower::BoxError>(response)
            }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, method: &Method, path: &str, mut body: Value) -> (StatusCode, Value) {
        let mut hub = self.0.lock();
        let refused = |status: Status| {
            let said = serde_json::to_value(status.to_meta()).unwrap();
            (status.code(), said)
        };
        if *method == Method::GET && path.ends_with('s') {
            let within = format!("{path}/");
            let items = hub.iter().filter(|(path, _)| path.starts_with(&within));
            let items: Vec<_> = items.map(|(_, object)| object).collect();
            return (StatusCode::OK, json!({ "metadata": {}, "items": items }));
        }
        if *method == Method::POST {
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            // The names of views can collide. Other writes of the server replace the object.
            if path.ends_with("/savedviews") && hub.contains_key(&format!("{path}/{name}")) {
                return refused(Status::already_exists("Thing", &name));
            }
            body["metadata"]["uid"] = name.as_str().into();
            body["metadata"]["generation"] = 1.into();
            body["metadata"]["resourceVersion"] = "1".into();
            hub.insert(format!("{path}/{name}"), body.clone());
            return (StatusCode::CREATED, body);
        }
        let Some(old) = hub.get(path).cloned() else {
            return refused(Status::not_found("Thing", path));
        };
        if *method == Method::PUT {
            let (now, sent) = (&old["metadata"], &body["metadata"]);
            if now["resourceVersion"] != sent["resourceVersion"] {
                return refused(Status::conflict("the object has another UID or version"));
            }
            let after = |field: &str| now[field].as_i64().unwrap_or_default() + 1;
            let version = now["resourceVersion"].as_str().unwrap().to_owned() + "1";
            body["metadata"]["generation"] = after("generation").into();
            body["metadata"]["resourceVersion"] = version.into();
            hub.insert(path.to_owned(), body.clone());
            return (StatusCode::OK, body);
        }
        if *method == Method::DELETE {
            hub.remove(path);
        }
        if *method == Method::PATCH {
            let mut changed = old;
            let (spec, expected) = (changed["spec"].as_object_mut(), body["spec"].as_object());
            if let (Some(spec), Some(expected)) = (spec, expected) {
                spec.extend(expected.clone());
            }
            hub.insert(path.to_owned(), changed.clone());
            return (StatusCode::OK, changed);
        }
        (StatusCode::OK, old)
    }
}

fn path_of(plural: &str, name: &str) -> String {
    format!("/apis/management.drover.dev/v1alpha1/{plural}/{name}")
}

/// Returns a new object whose UID equals its name.
pub(super) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name, "generation": 1, "resourceVersion": "1" },
        "spec": spec,
    })
}

fn read<K: DeserializeOwned>(object: &Value) -> K {
    serde_json::from_value(object.clone()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn second_of_two_concurrent_project_changes_returns_409() {
    let hub = FakeHub::default();
    let server = TestServer::with_client(hub.client());
    let admin = server.person(true, TokenPurpose::Session, None);
    let spec = json!({ "cluster": { "name": "shop", "uid": "shop-uid" }, "namespaces": [] });
    let till = object("Project", "till", &spec);
    hub.put("projects", &till);
    let heard = || {
        let project: Project = hub.get("projects", "till").unwrap();
        server.stores.projects.apply(project);
    };
    heard();
    let patch = async |change: Value| {
        let (code, body) = server
            .send(Method::PATCH, "/v1/projects/till", &admin, change)
            .await;
        heard();
        (code.as_u16(), body)
    };
    // Both users have read the first generation; the stores see each write.
    let (code, body) = patch(json!({ "generation": 1, "displayName": "Ann's" })).await;
    assert_eq!((code, &body["generation"]), (200, &json!(2)), "{body}");
    let (code, body) = patch(json!({ "generation": 1, "displayName": "Bob's" })).await;
    assert_eq!((code, &body["reason"]), (409, &json!("Conflict")), "{body}");
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("reload the project"),
        "{body}"
    );
    let name = || {
        hub.get::<Project>("projects", "till")
            .unwrap()
            .spec
            .display_name
    };
    assert_eq!(name().as_deref(), Some("Ann's"));
    // The server's own write to the status is not a user's change.
    let mut written: Value = hub.get("projects", "till").unwrap();
    written["metadata"]["resourceVersion"] = json!("7");
    hub.put("projects", &written);
    heard();
    let (code, body) = patch(json!({ "generation": 2, "displayName": "Bob's" })).await;
    assert_eq!((code, &body["generation"]), (200, &json!(3)), "{body}");
    assert_eq!(name().as_deref(), Some("Bob's"));
    // The hub detects the conflict before the stores see the other change.
    let mut unheard: Value = hub.get("projects", "till").unwrap();
    unheard["metadata"]["resourceVersion"] = json!("8");
    unheard["metadata"]["generation"] = json!(4);
    hub.put("projects", &unheard);
    let (code, body) = patch(json!({ "generation": 3, "displayName": "Eve's" })).await;
    assert_eq!(code, 409, "{body}");
    assert_eq!(name().as_deref(), Some("Bob's"));
}

#[tokio::test(start_paused = true)]
async fn role_deletion_requires_the_permissions_of_the_current_role_rules() {
    let hub = FakeHub::default();
    let server = TestServer::with_client(hub.client());
    let keeper = server.person(false, TokenPurpose::Session, None);
    let rules = |group: &str, resource: &str| json!([{ "apiGroups": [group], "resources": [resource], "verbs": ["*"] }]);
    let role = |resource: &str| {
        let spec = json!({ "context": "Cluster", "rules": rules("", resource) });
        object("RoleTemplate", "victim", &spec)
    };
    let pods = json!({ "context": "Cluster", "rules": rules("", "pods") });
    let pods: RoleTemplate = read(&object("RoleTemplate", "pods", &pods));
    server.stores.role_templates.apply(pods);
    let keeps = json!({ "rules": rules("management.drover.dev", "*"), "inEveryCluster": ["pods"] });
    let keeps: GlobalRole = read(&object("GlobalRole", "keeper", &keeps));
    server.stores.global_roles.apply(keeps);
    let bound = json!({
        "role": { "name": "keeper", "uid": "keeper" },
        "subject": { "user": { "name": "user-0", "uid": "user-0" } },
    });
    let bound: GlobalRoleBinding = read(&object("GlobalRoleBinding", "keeper", &bound));
    server.stores.global_role_bindings.apply(bound);
    // The stores have not seen the latest rules yet.
    server
        .stores
        .role_templates
        .apply(read::<RoleTemplate>(&role("pods")));
    hub.put("roletemplates", &role("secrets"));
    let delete = async || {
        let path = "/v1/roles/victim";
        let (code, body) = server.send(Method::DELETE, path, &keeper, json!({})).await;
        (code.as_u16(), body)
    };
    let (code, body) = delete().await;
    assert_eq!(code, 403, "{body}");
    assert!(body["message"].as_str().unwrap().contains("lack"), "{body}");
    assert!(hub.get::<Value>("roletemplates", "victim").is_some());
    hub.put("roletemplates", &role("pods"));
    let (code, body) = delete().await;
    assert_eq!(code, 204, "{body}");
    assert!(hub.get::<Value>("roletemplates", "victim").is_none());
}
