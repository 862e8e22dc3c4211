use drover_access::admission::Operation;
use drover_api::group::GROUP;
use drover_api::kinds::{GlobalRole, GlobalRoleBinding, RoleTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// Returns metadata of an object whose UID equals its name.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let object = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

fn reader() -> RoleTemplate {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    object(
        "RoleTemplate",
        "reader",
        &json!({ "context": "Cluster", "rules": rules }),
    )
}

/// Returns stores with three users: `root` is an administrator, `ann` has no role, and `off` is
/// disabled.
fn stores() -> Stores {
    let stores = Stores::synced_empty();
    for (name, spec) in [
        ("root", json!({ "administrator": true })),
        ("ann", json!({})),
        ("off", json!({ "enabled": false, "administrator": true })),
    ] {
        stores.users.apply(object("User", name, &spec));
    }
    stores
}

/// Returns the client of a fake hub that never responds.
fn silent_hub() -> Client {
    let never = tower::service_fn(|_: http::Request<kube::client::Body>| {
        futures::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    Client::new(never, "default")
}

async fn check_on_hub(
    client: &Client,
    stores: &Stores,
    write: &Write<'_>,
) -> Result<(), AdmissionError> {
    check_writer(client, stores, write, &DIRECT_WAITING).await
}

/// Checks whether a writer may create the global role `new`. The role grants `reader` in every
/// cluster.
async fn create_global_role(
    stores: &Stores,
    writer: &str,
    groups: &[&str],
) -> Result<(), AdmissionError> {
    let new = json!({ "metadata": { "name": "new" }, "spec": { "inEveryCluster": ["reader"] } });
    let groups: Vec<_> = groups.iter().map(|&group| group.to_owned()).collect();
    let write = Write {
        writer,
        groups: &groups,
        operation: Operation::Create,
        group: GROUP,
        resource: "globalroles",
        subresource: "",
        namespace: "",
        name: "new",
        object: Some(&new),
        old: None,
    };
    check_on_hub(&silent_hub(), stores, &write).await
}

fn rejection(answer: Result<(), AdmissionError>) -> String {
    answer.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn role_check_reads_the_current_roles_of_the_writer() {
    let stores = stores();
    stores.role_templates.apply(reader());
    create_global_role(&stores, "drover:user:root", &[])
        .await
        .unwrap();
    let lacks = rejection(create_global_role(&stores, "drover:user:ann", &[]).await);
    assert!(lacks.contains("lack"), "{lacks}");
    for writer in ["drover:user:off", "drover:user:nobody"] {
        let gone = rejection(create_global_role(&stores, writer, &[]).await);
        assert!(gone.contains("was deleted or disabled"), "{writer}: {gone}");
    }
    // The check does not ask the hub about a Drover name that is not a user.
    let none =
        rejection(create_global_role(&stores, "drover:oidc:admins", &["system:masters"]).await);
    assert!(none.contains("only Drover users"), "{none}");
}

#[tokio::test(start_paused = true)]
async fn role_check_ignores_groups_in_the_admission_request() {
    let stores = stores();
    stores.role_templates.apply(reader());
    let provider = json!({ "enabled": true });
    stores
        .auth_providers
        .apply(object("AuthProvider", "oidc", &provider));
    let role = json!({ "inEveryCluster": ["reader"] });
    let role: GlobalRole = object("GlobalRole", "readers", &role);
    stores.global_roles.apply(role);
    let bound: GlobalRoleBinding = object(
        "GlobalRoleBinding",
        "devs",
        &json!({
            "role": { "name": "readers", "uid": "readers" },
            "subject": { "group": { "name": "drover:oidc:devs", "providerUid": "oidc" } },
        }),
    );
    stores.global_role_bindings.apply(bound);
    assert!(stores.grants.fresh(&stores).problems().is_empty());
    let claimed = create_global_role(&stores, "drover:user:ann", &["drover:oidc:devs"]).await;
    let lacks = rejection(claimed);
    assert!(lacks.contains("lack"), "{lacks}");
}

#[tokio::test(start_paused = true)]
async fn write_waits_for_stores_to_sync_a_new_role() {
    let stores = stores();
    let sync = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stores.role_templates.apply(reader());
        stores.grants.fresh(&stores);
    };
    let started = Instant::now();
    let (admitted, ()) = tokio::join!(create_global_role(&stores, "drover:user:root", &[]), sync);
    admitted.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn unauthorized_write_is_rejected_only_after_the_wait_for_newer_grants() {
    let stores = stores();
    let started = Instant::now();
    let refused = rejection(create_global_role(&stores, "drover:user:root", &[]).await);
    assert!(refused.contains("reader"), "{refused}");
    assert_eq!(started.elapsed(), GRANTS_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn unsynced_or_stale_stores_reject_writes() {
    let unread = create_global_role(&Stores::new(), "drover:user:root", &[]).await;
    assert!(
        matches!(unread, Err(AdmissionError::Unavailable(_))),
        "{unread:?}"
    );
    let stores = stores();
    stores.role_templates.apply(reader());
    create_global_role(&stores, "drover:user:root", &[])
        .await
        .unwrap();
    tokio::time::advance(crate::stores::MAX_STORE_AGE).await;
    let stale = create_global_role(&stores, "drover:user:root", &[]).await;
    assert!(
        matches!(stale, Err(AdmissionError::Unavailable(_))),
        "{stale:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn write_on_behalf_of_a_user_is_checked_with_the_roles_of_that_user() {
    use crate::Keys;
    use drover_access::identity::TokenLimits;
    use drover_api::ids::UserUid;
    use drover_api::kinds::TokenPurpose;

    let stores = stores();
    stores.role_templates.apply(reader());
    let hub = Hub::new(silent_hub(), stores, Keys::generate().unwrap());
    let caller = |name: &str| Identity {
        user_uid: UserUid::new(name),
        user_name: name.to_owned(),
        display_name: None,
        // The administrator flag of the token; the check uses the stores.
        administrator: true,
        groups: Vec::new(),
        token: TokenLimits {
            provider: None,
            id: "bcdfghjkmnpq".to_owned(),
            purpose: TokenPurpose::Session,
            cluster: None,
            expires_at: Timestamp::now(),
        },
    };
    let new = json!({ "metadata": { "name": "new" }, "spec": { "inEveryCluster": ["reader"] } });
    let mut write = Write {
        writer: "drover:server",
        groups: &[],
        operation: Operation::Create,
        group: GROUP,
        resource: "globalroles",
        subresource: "",
        namespace: "",
        name: "new",
        object: Some(&new),
        old: None,
    };
    check_write(&hub, &caller("root"), &write).await.unwrap();
    for (name, expected) in [("ann", "lack"), ("off", "was deleted or disabled")] {
        let refused = check_write(&hub, &caller(name), &write).await;
        let status = Status::from(refused.unwrap_err());
        assert_eq!(status.code(), 403);
        assert!(status.message().contains(expected), "{name}: {status}");
    }
    // Creating a cluster without a custom image requires no role.
    write.resource = "clusters";
    check_write(&hub, &caller("ann"), &write).await.unwrap();
    // The rules that do not depend on roles apply too.
    write.resource = "tokens";
    let refused = check_write(&hub, &caller("root"), &write).await;
    let status = Status::from(refused.unwrap_err());
    assert_eq!(status.code(), 403, "{status}");
}

/// Returns the client of a fake hub. Every object on this hub was recreated since the stores
/// synced.
fn hub_with_recreated_roles() -> Client {
    let anew = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
        let name = request.uri().path().rsplit('/').next().unwrap().to_owned();
        let object = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRole",
            "metadata": { "name": name, "uid": "another" }, "spec": {},
        });
        let body = kube::client::Body::from(serde_json::to_vec(&object).unwrap());
        Ok::<_, tower::BoxError>(http::Response::new(body))
    });
    Client::new(anew, "default")
}

#[tokio::test(start_paused = true)]
async fn binding_to_recreated_role_waits_for_sync() {
    let stores = stores();
    stores
        .global_roles
        .apply(object("GlobalRole", "harmless", &json!({})));
    let spec = json!({ "role": { "name": "harmless" }, "subject": { "user": { "name": "ann" } } });
    let new = json!({ "metadata": { "name": "new" }, "spec": spec });
    let write = Write {
        writer: "drover:user:ann",
        groups: &[],
        operation: Operation::Create,
        group: GROUP,
        resource: "globalrolebindings",
        subresource: "",
        namespace: "",
        name: "new",
        object: Some(&new),
        old: None,
    };
    let refused = check_on_hub(&hub_with_recreated_roles(), &stores, &write).await;
    assert!(
        matches!(refused, Err(AdmissionError::Unavailable(_))),
        "{refused:?}"
    );
    let mut synced: GlobalRole = object("GlobalRole", "harmless", &json!({}));
    synced.metadata.uid = Some("another".to_owned());
    stores.global_roles.apply(synced);
    check_on_hub(&hub_with_recreated_roles(), &stores, &write)
        .await
        .unwrap();
}

/// Returns the client of a fake hub. The hub has one role of this kind that the stores do not
/// contain. The role inherits or grants `reader`.
fn hub_with_inheriting_role(list: &'static str, spec: Value) -> Client {
    let hub = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let heir = json!({ "metadata": { "name": "heir", "uid": "heir" }, "spec": spec });
        let of_kind = request.uri().path().ends_with(list);
        let items: Vec<_> = of_kind.then_some(heir).into_iter().collect();
        let answer = json!({ "metadata": {}, "items": items });
        let body = kube::client::Body::from(serde_json::to_vec(&answer).unwrap());
        std::future::ready(Ok::<_, tower::BoxError>(http::Response::new(body)))
    });
    Client::new(hub, "default")
}

#[tokio::test(start_paused = true)]
async fn inherited_role_cannot_be_deleted_before_stores_contain_the_inheriting_role() {
    let stores = stores();
    stores.role_templates.apply(reader());
    let old = serde_json::to_value(reader()).unwrap();
    let write = Write {
        writer: "drover:user:root",
        groups: &[],
        operation: Operation::Delete,
        group: GROUP,
        resource: "roletemplates",
        subresource: "",
        namespace: "",
        name: "reader",
        object: None,
        old: Some(&old),
    };
    let inherits = json!({ "context": "Cluster", "inherits": ["reader"] });
    let gives = json!({ "inEveryCluster": ["reader"] });
    for (list, heir) in [("/roletemplates", &inherits), ("/globalroles", &gives)] {
        // The hub sends an empty name for a deletion of a collection.
        for name in ["reader", ""] {
            let hub = hub_with_inheriting_role(list, heir.clone());
            let refused = check_on_hub(&hub, &stores, &Write { name, ..write }).await;
            assert!(
                matches!(refused, Err(AdmissionError::Unavailable(_))),
                "{list} {name:?}: {refused:?}"
            );
        }
    }
    let hub = hub_with_inheriting_role("/nothing", json!({}));
    check_on_hub(&hub, &stores, &write).await.unwrap();
    // After the stores sync, the rejection names the inheriting role.
    let hub = hub_with_inheriting_role("/roletemplates", inherits.clone());
    let sync = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stores
            .role_templates
            .apply(object("RoleTemplate", "heir", &inherits));
        stores.grants.fresh(&stores);
    };
    let (refused, ()) = tokio::join!(check_on_hub(&hub, &stores, &write), sync);
    let refused = rejection(refused);
    assert!(refused.contains("\"heir\" inherits from"), "{refused}");
}
