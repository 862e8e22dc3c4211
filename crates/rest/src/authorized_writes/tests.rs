use std::sync::Arc;

use drover_access::admission::AdmissionContext;
use drover_api::kinds::{Cluster, ClusterRoleTemplateBinding, User};
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;
use drover_hub::admission::WriteAuthorizer;

type Requests = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// Returns a fake hub that responds with `answer` and records the requests.
fn hub(
    answer: impl Fn(&Method, &str, &Value) -> (u16, Value) + Clone + Send + Sync + 'static,
) -> (Client, Requests) {
    let requests = Requests::default();
    let recorded = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (recorded, answer) = (Arc::clone(&recorded), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let path = parts.uri.path().to_owned();
            let (code, body_text) = answer(&parts.method, &path, &body);
            recorded.lock().push((parts.method, path, body));
            let mut response = Response::new(Body::from(serde_json::to_vec(&body_text).unwrap()));
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
            Ok::<_, tower::BoxError>(response)
        }
    });
    (Client::new(service, "default"), requests)
}

fn failure(code: u16) -> (u16, Value) {
    let body_text = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
        "reason": "Because", "message": "no",
    });
    (code, body_text)
}

#[tokio::test]
async fn created_object_is_deleted_by_uid_if_creation_of_its_owner_binding_fails() {
    let created: Cluster = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "Cluster",
        "metadata": { "name": "shop", "uid": "1" }, "spec": {},
    }))
    .unwrap();
    let (client, requests) = hub(|_, _, _| failure(404));
    let writer = || Writer::<Cluster>::without_store(Api::all(client.clone()));
    delete_without_owner(writer(), &created, Ok(()))
        .await
        .unwrap();
    assert!(requests.lock().is_empty());
    let status = Status::unavailable("the hub is unavailable", 1);
    let error = delete_without_owner(writer(), &created, Err(status))
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the hub is unavailable");
    let requests = requests.lock();
    let [(method, path, body)] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(*method, Method::DELETE);
    assert!(path.ends_with("/clusters/shop"), "{path}");
    assert_eq!(body["preconditions"]["uid"], "1", "{body}");
}

/// Creates an object with this kind, name and spec. Returns the object and its JSON. The object's
/// UID is its name.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> (K, Value) {
    let json = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    (serde_json::from_value(json.clone()).unwrap(), json)
}

/// Returns a caller whose name and UID are `name`. The field `administrator` has no effect, because
/// admission reads the User object in the stores.
fn caller(name: &str) -> Identity {
    Identity {
        user_uid: drover_api::ids::UserUid::new(name),
        user_name: name.to_owned(),
        display_name: None,
        administrator: true,
        groups: Vec::new(),
        token: drover_access::identity::TokenLimits {
            id: "t".to_owned(),
            purpose: drover_api::kinds::TokenPurpose::Session,
            cluster: None,
            provider: None,
            expires_at: jiff::Timestamp::MAX,
        },
    }
}

/// Creates a binding while a binding with the spec `taken_by` already uses the derived name.
/// Returns the name of the new binding or an error, and the number of POST requests to the hub.
async fn create_with_name_in_use(taken_by: &Value) -> (Result<String, Status>, usize) {
    let spec = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "root" } },
    });
    let stores = drover_hub::Stores::synced_empty();
    let (root, _) = object("User", "root", &json!({ "administrator": true }));
    stores.users.apply(root);
    let (shop, shop_json) = object("Cluster", "shop", &json!({}));
    stores.clusters.apply(shop);
    let (reader, reader_json) = object("RoleTemplate", "reader", &json!({ "context": "Cluster" }));
    stores.role_templates.apply(reader);
    let (_, taken): (ClusterRoleTemplateBinding, _) =
        object("ClusterRoleTemplateBinding", "m-1", taken_by);
    let (client, requests) = hub(move |method, path, body| {
        let last = path.rsplit('/').next().unwrap_or_default();
        match (method, last) {
            (&Method::GET, "shop") => (200, shop_json.clone()),
            (&Method::GET, "reader") => (200, reader_json.clone()),
            (&Method::GET, "m-1") => (200, taken.clone()),
            (&Method::POST, _) if body["metadata"]["name"] == "m-1" => failure(409),
            (&Method::POST, _) => (201, body.clone()),
            _ => failure(404),
        }
    });
    let keys = drover_hub::Keys::generate().unwrap();
    let hub = Hub::new(client, stores.clone(), keys);
    let caller = caller("root");
    let (binding, _): (ClusterRoleTemplateBinding, _) =
        object("ClusterRoleTemplateBinding", "m-1", &spec);
    let writer = AuthorizedWriter::new(&hub, &caller);
    let created = writer
        .create_with_derived_name(&binding, &binding, "m-")
        .await;
    let requests = requests.lock();
    let posted = requests
        .iter()
        .filter(|(method, _, _)| method == Method::POST);
    (created.map(|created| created.name_any()), posted.count())
}

#[tokio::test(start_paused = true)]
async fn binding_receives_a_random_name_if_its_derived_name_is_in_use() {
    let other = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "eve" } },
    });
    let (created, posted) = create_with_name_in_use(&other).await;
    let name = created.unwrap();
    assert!(name.starts_with("m-") && name.len() == 34, "{name}");
    assert_eq!(posted, 2);
    // A binding with an equal spec exists already.
    let same = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "root" } },
    });
    let (created, posted) = create_with_name_in_use(&same).await;
    assert_eq!(created.unwrap_err().code(), http::StatusCode::CONFLICT);
    assert_eq!(posted, 1);
}

/// Returns the User `bob`. The fields of `change` replace fields of its metadata, spec and status.
fn user(change: &Value) -> User {
    let mut whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
        "metadata": { "name": "bob", "uid": "bob" },
        "spec": { "enabled": true, "administrator": false, "mustChangePassword": true },
    });
    for part in ["metadata", "spec", "status"] {
        let changed = change.get(part).and_then(Value::as_object);
        for (field, value) in changed.into_iter().flatten() {
            whole[part][field] = value.clone();
        }
    }
    serde_json::from_value(whole).unwrap()
}

/// Runs the hub's admission rules for a write that the user `ann` sends with kubectl.
async fn by_kubectl(hub: &Hub, old: Option<&User>, new: Option<&User>) -> Result<(), String> {
    let json = |user: Option<&User>| user.map(|user| value(user).unwrap());
    let (old, object) = (json(old), json(new));
    let write = Write {
        writer: "drover:user:ann",
        groups: &[],
        operation: match (&old, &object) {
            (None, _) => Operation::Create,
            (_, None) => Operation::Delete,
            _ => Operation::Update,
        },
        group: GROUP,
        resource: "users",
        subresource: "",
        namespace: "",
        name: "bob",
        object: object.as_ref(),
        old: old.as_ref(),
    };
    let authorizer = WriteAuthorizer {
        client: hub.client(),
        stores: hub.stores().clone(),
    };
    let decided = authorizer
        .check(AdmissionContext::embedded("drover:server"), &write)
        .await;
    decided.map_err(|error| error.to_string())
}

/// Returns test cases of writes of User objects. Each case contains a description, the old object,
/// the new object, and true if the rules allow the write.
fn writes_of_users() -> Vec<(&'static str, Option<User>, Option<User>, bool)> {
    let plain = || user(&json!({}));
    let administrator = || user(&json!({ "spec": { "administrator": true } }));
    let disabled = || user(&json!({ "spec": { "administrator": true, "enabled": false } }));
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x" }]);
    let with = |change: &Value| Some(user(change));
    vec![
        ("create", None, Some(plain()), true),
        (
            "create an administrator",
            None,
            Some(administrator()),
            false,
        ),
        (
            "promote a user to administrator",
            Some(plain()),
            Some(administrator()),
            false,
        ),
        (
            "demote an administrator",
            Some(administrator()),
            Some(plain()),
            false,
        ),
        (
            "disable an administrator",
            Some(administrator()),
            Some(disabled()),
            false,
        ),
        (
            "enable an administrator",
            Some(disabled()),
            Some(administrator()),
            false,
        ),
        (
            "change the name",
            Some(plain()),
            with(&json!({ "spec": { "displayName": "Bob" } })),
            true,
        ),
        (
            "change the name of an administrator",
            Some(administrator()),
            with(&json!({ "spec": { "administrator": true, "displayName": "Bob" } })),
            false,
        ),
        (
            "set mustChangePassword to false",
            Some(plain()),
            with(&json!({ "spec": { "mustChangePassword": false } })),
            false,
        ),
        (
            "set an annotation of the server",
            Some(plain()),
            with(&json!({ "metadata": { "annotations": { "management.drover.dev/x": "1" } } })),
            false,
        ),
        (
            "set an owner",
            Some(plain()),
            with(&json!({ "metadata": { "ownerReferences": owner } })),
            false,
        ),
        (
            "set a finalizer",
            Some(plain()),
            with(&json!({ "metadata": { "finalizers": ["a.example/x"] } })),
            false,
        ),
        (
            "change the status",
            Some(plain()),
            with(&json!({ "status": { "lastLoginAt": "2026-01-01T00:00:00Z" } })),
            false,
        ),
        ("delete", Some(plain()), None, true),
        (
            "delete an administrator",
            Some(administrator()),
            None,
            false,
        ),
        (
            "delete a disabled administrator",
            Some(disabled()),
            None,
            false,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn rest_and_kubectl_writes_require_equal_permissions() {
    let stores = drover_hub::Stores::synced_empty();
    let (ann, _) = object("User", "ann", &json!({}));
    stores.users.apply(ann);
    let (client, _) = hub(|_, _, _| failure(404));
    let hub = Hub::new(
        client,
        stores.clone(),
        drover_hub::Keys::generate().unwrap(),
    );
    let ann = caller("ann");
    let writer = AuthorizedWriter::new(&hub, &ann);
    for (description, old, new, allowed) in writes_of_users() {
        if let Some(old) = &old {
            stores.users.apply(old.clone());
        }
        let by_rest = match (&old, &new) {
            (None, Some(new)) => writer.check_create(new).await,
            (Some(old), Some(new)) => writer.check_replace(old, new).await,
            (Some(old), None) => writer.check_delete(old).await,
            (None, None) => Ok(()),
        };
        assert_eq!(by_rest.is_ok(), allowed, "{description}: {by_rest:?}");
        let by_rest = by_rest.map_err(|status| status.message().to_owned());
        let by_kubectl = by_kubectl(&hub, old.as_ref(), new.as_ref()).await;
        assert_eq!(by_rest, by_kubectl, "{description}");
    }
}
