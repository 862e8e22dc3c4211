use std::sync::Arc;

use drover_access::admission::Asker;
use drover_api::kinds::{Cluster, ClusterRoleTemplateBinding, User};
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use drover_hub::admission::WriteAuthorizer;

type Asked = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// A hub that answers by this, and what it was asked.
fn hub(
    answer: impl Fn(&Method, &str, &Value) -> (u16, Value) + Clone + Send + Sync + 'static,
) -> (Client, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (noted, answer) = (Arc::clone(&noted), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let path = parts.uri.path().to_owned();
            let (code, said) = answer(&parts.method, &path, &body);
            noted.lock().push((parts.method, path, body));
            let mut response = Response::new(Body::from(serde_json::to_vec(&said).unwrap()));
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
            Ok::<_, tower::BoxError>(response)
        }
    });
    (Client::new(service, "default"), asked)
}

fn failure(code: u16) -> (u16, Value) {
    let said = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
        "reason": "Because", "message": "no",
    });
    (code, said)
}

#[tokio::test]
async fn what_gets_no_owner_goes_again_and_nothing_else_of_its_name() {
    let made: Cluster = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "Cluster",
        "metadata": { "name": "shop", "uid": "1" }, "spec": {},
    }))
    .unwrap();
    let (client, asked) = hub(|_, _, _| failure(404));
    let api: Api<Cluster> = Api::all(client);
    or_take_back(&api, &made, Ok(())).await.unwrap();
    assert!(asked.lock().is_empty());
    let status = Status::unavailable("the hub is away", 1);
    let said = or_take_back(&api, &made, Err(status)).await.unwrap_err();
    assert_eq!(said.message(), "the hub is away");
    let asked = asked.lock();
    let [(method, path, body)] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(*method, Method::DELETE);
    assert!(path.ends_with("/clusters/shop"), "{path}");
    assert_eq!(body["preconditions"]["uid"], "1", "{body}");
}

/// The UID of what is there, and what a hub says of one who is bound there.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> (K, Value) {
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    (serde_json::from_value(whole.clone()).unwrap(), whole)
}

/// A caller of this name and UID. The stores say who administers Drover, and not this.
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

/// What an administrator is told who makes a binding whose name is taken by one with this spec, and
/// how many bindings the hub was asked to make.
async fn making_what_is_taken(taken_by: &Value) -> (Result<String, Status>, usize) {
    let spec = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "root" } },
    });
    let stores = drover_hub::Stores::synced_empty();
    let (root, _) = object("User", "root", &json!({ "administrator": true }));
    stores.users.apply(root);
    let (shop, shop_said) = object("Cluster", "shop", &json!({}));
    stores.clusters.apply(shop);
    let (reader, reader_said) = object("RoleTemplate", "reader", &json!({ "context": "Cluster" }));
    stores.role_templates.apply(reader);
    let (_, taken): (ClusterRoleTemplateBinding, _) =
        object("ClusterRoleTemplateBinding", "m-1", taken_by);
    let (client, asked) = hub(move |method, path, body| {
        let last = path.rsplit('/').next().unwrap_or_default();
        match (method, last) {
            (&Method::GET, "shop") => (200, shop_said.clone()),
            (&Method::GET, "reader") => (200, reader_said.clone()),
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
    let written = Written::new(&hub, &caller, &stores.cluster_role_template_bindings);
    let made = written.create_drawn(&binding, &binding, "m-").await;
    let asked = asked.lock();
    let posted = asked.iter().filter(|(method, _, _)| method == Method::POST);
    (made.map(|made| made.name_any()), posted.count())
}

#[tokio::test(start_paused = true)]
async fn a_binding_whose_name_somebody_took_for_another_is_made_under_another_name() {
    let other = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "eve" } },
    });
    let (made, posted) = making_what_is_taken(&other).await;
    let name = made.unwrap();
    assert!(name.starts_with("m-") && name.len() == 34, "{name}");
    assert_eq!(posted, 2);
    // The very same is there already.
    let same = json!({
        "cluster": { "name": "shop" }, "role": { "name": "reader" },
        "subject": { "user": { "name": "root" } },
    });
    let (made, posted) = making_what_is_taken(&same).await;
    assert_eq!(made.unwrap_err().code(), http::StatusCode::CONFLICT);
    assert_eq!(posted, 1);
}

/// A user with a changed part.
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

/// What kubectl is told about the same write.
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
        .check(Asker::embedded("drover:server"), &write)
        .await;
    decided.map_err(|error| error.to_string())
}

/// Writes of users: a description, the old and the new object, and whether the rules allow the write.
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
            "make an administrator",
            Some(plain()),
            Some(administrator()),
            false,
        ),
        (
            "unmake an administrator",
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
            "lift mustChangePassword",
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
async fn rest_applies_the_rules_that_apply_to_kubectl() {
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
    let written = Written::new(&hub, &ann, &stores.users);
    for (what, old, new, allowed) in writes_of_users() {
        if let Some(old) = &old {
            stores.users.apply(old.clone());
        }
        let by_rest = match (&old, &new) {
            (None, Some(new)) => written.check_create(new).await,
            (Some(old), Some(new)) => written.check_replace(old, new).await,
            (Some(old), None) => written.check_delete(old).await,
            (None, None) => Ok(()),
        };
        assert_eq!(by_rest.is_ok(), allowed, "{what}: {by_rest:?}");
        let by_rest = by_rest.map_err(|status| status.message().to_owned());
        let by_kubectl = by_kubectl(&hub, old.as_ref(), new.as_ref()).await;
        assert_eq!(by_rest, by_kubectl, "{what}");
    }
}
