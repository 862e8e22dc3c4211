use drover_access::admission::Operation;
use drover_api::group::GROUP;
use drover_api::kinds::{GlobalRole, GlobalRoleBinding, RoleTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// An object whose UID is its name.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    serde_json::from_value(whole).unwrap()
}

fn reader() -> RoleTemplate {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    object(
        "RoleTemplate",
        "reader",
        &json!({ "context": "Cluster", "rules": rules }),
    )
}

/// `root` administers Drover, `ann` has no role, `off` is disabled.
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

/// A hub that would answer everything, and nobody asks.
fn silent() -> Client {
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
    check_writer(client, stores, write, &WAITING_ON_HUB).await
}

/// Making the global role `new`, which gives `reader` in every cluster.
async fn giving(stores: &Stores, writer: &str, groups: &[&str]) -> Result<(), AdmissionError> {
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
    check_on_hub(&silent(), stores, &write).await
}

fn said(answer: Result<(), AdmissionError>) -> String {
    answer.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn who_writes_is_who_the_hub_says_they_are_now() {
    let stores = stores();
    stores.role_templates.apply(reader());
    giving(&stores, "drover:user:root", &[]).await.unwrap();
    let lacks = said(giving(&stores, "drover:user:ann", &[]).await);
    assert!(lacks.contains("lack"), "{lacks}");
    for writer in ["drover:user:off", "drover:user:nobody"] {
        let gone = said(giving(&stores, writer, &[]).await);
        assert!(gone.contains("was deleted or disabled"), "{writer}: {gone}");
    }
    // Nobody asks the hub what a name of Drover's may do that is no person's.
    let none = said(giving(&stores, "drover:oidc:admins", &["system:masters"]).await);
    assert!(none.contains("only Drover users"), "{none}");
}

#[tokio::test(start_paused = true)]
async fn groups_of_the_request_count_for_nothing() {
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
    let claimed = giving(&stores, "drover:user:ann", &["drover:oidc:devs"]).await;
    let lacks = said(claimed);
    assert!(lacks.contains("lack"), "{lacks}");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_refused_because_memory_was_late() {
    let stores = stores();
    let heard = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stores.role_templates.apply(reader());
        stores.grants.fresh(&stores);
    };
    let began = Instant::now();
    let (admitted, ()) = tokio::join!(giving(&stores, "drover:user:root", &[]), heard);
    admitted.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_waits_no_longer_than_memory_may_need() {
    let stores = stores();
    let began = Instant::now();
    let refused = said(giving(&stores, "drover:user:root", &[]).await);
    assert!(refused.contains("reader"), "{refused}");
    assert_eq!(began.elapsed(), GRANTS_WITHIN);
}

#[tokio::test(start_paused = true)]
async fn stores_that_are_not_read_or_not_trusted_judge_nobody() {
    let unread = giving(&Stores::new(), "drover:user:root", &[]).await;
    assert!(
        matches!(unread, Err(AdmissionError::Unavailable(_))),
        "{unread:?}"
    );
    let stores = stores();
    stores.role_templates.apply(reader());
    giving(&stores, "drover:user:root", &[]).await.unwrap();
    tokio::time::advance(crate::stores::TRUSTED_FOR).await;
    let stale = giving(&stores, "drover:user:root", &[]).await;
    assert!(
        matches!(stale, Err(AdmissionError::Unavailable(_))),
        "{stale:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_server_writes_for_somebody_is_judged_as_theirs() {
    use crate::Keys;
    use drover_access::identity::TokenLimits;
    use drover_api::ids::UserUid;
    use drover_api::kinds::TokenPurpose;

    let stores = stores();
    stores.role_templates.apply(reader());
    let hub = Hub::new(silent(), stores, Keys::generate().unwrap());
    let caller = |name: &str| Identity {
        user_uid: UserUid::new(name),
        user_name: name.to_owned(),
        display_name: None,
        // By the token; what counts is what is in the stores.
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
    for (name, why) in [("ann", "lack"), ("off", "was deleted or disabled")] {
        let refused = check_write(&hub, &caller(name), &write).await;
        let status = Status::from(refused.unwrap_err());
        assert_eq!(status.code(), 403);
        assert!(status.message().contains(why), "{name}: {status}");
    }
    // A cluster without an image of its own depends on nobody's roles.
    write.resource = "clusters";
    check_write(&hub, &caller("ann"), &write).await.unwrap();
    // The rules that depend on nobody's roles apply as well.
    write.resource = "tokens";
    let refused = check_write(&hub, &caller("root"), &write).await;
    let status = Status::from(refused.unwrap_err());
    assert_eq!(status.code(), 403, "{status}");
}

/// A hub on which whatever is asked for was made anew after memory heard of it.
fn made_anew() -> Client {
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
async fn a_role_that_was_made_anew_is_not_bound_by_what_it_was() {
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
    let refused = check_on_hub(&made_anew(), &stores, &write).await;
    assert!(
        matches!(refused, Err(AdmissionError::Unavailable(_))),
        "{refused:?}"
    );
    let mut heard: GlobalRole = object("GlobalRole", "harmless", &json!({}));
    heard.metadata.uid = Some("another".to_owned());
    stores.global_roles.apply(heard);
    check_on_hub(&made_anew(), &stores, &write).await.unwrap();
}

/// A hub with one role more than memory has, which rests on `reader`; of the kind whose list it is in.
fn with_an_heir(list: &'static str, spec: Value) -> Client {
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
async fn a_role_stays_on_which_another_rests_that_memory_has_not_heard_of() {
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
        // Of what is deleted with others, the hub says no name.
        for name in ["reader", ""] {
            let hub = with_an_heir(list, heir.clone());
            let refused = check_on_hub(&hub, &stores, &Write { name, ..write }).await;
            assert!(
                matches!(refused, Err(AdmissionError::Unavailable(_))),
                "{list} {name:?}: {refused:?}"
            );
        }
    }
    let hub = with_an_heir("/nothing", json!({}));
    check_on_hub(&hub, &stores, &write).await.unwrap();
    // As soon as memory hears of it, the refusal says which it is.
    let hub = with_an_heir("/roletemplates", inherits.clone());
    let heard = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stores
            .role_templates
            .apply(object("RoleTemplate", "heir", &inherits));
        stores.grants.fresh(&stores);
    };
    let (refused, ()) = tokio::join!(check_on_hub(&hub, &stores, &write), heard);
    let refused = said(refused);
    assert!(refused.contains("\"heir\" inherits from"), "{refused}");
}
