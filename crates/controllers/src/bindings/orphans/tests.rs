use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drover_api::kinds::ClusterRoleTemplateBinding;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

/// Creates a fake hub that returns this response or error for every user. The counter contains the
/// number of requests.
fn hub(code: u16, uid: &'static str) -> (Client, Arc<AtomicUsize>) {
    let request_count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&request_count);
    let answer = move |request: Request<Body>| {
        assert_eq!(request.method(), http::Method::GET);
        counted.fetch_add(1, Ordering::Relaxed);
        let binding = if code == 200 {
            json!({
                "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
                "metadata": { "name": "ann", "uid": uid }, "spec": {},
            })
        } else {
            json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
                "reason": if code == 404 { "NotFound" } else { "Because" }, "message": "no",
            })
        };
        let mut answer = Response::new(Body::from(serde_json::to_vec(&binding).unwrap()));
        *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
        std::future::ready(Ok::<_, tower::BoxError>(answer))
    };
    (
        Client::new(tower::service_fn(answer), "default"),
        request_count,
    )
}

/// Returns `number` pending deletions of bindings whose subject is the user `ann` with UID 1.
fn deletions(number: usize) -> Vec<Change<ClusterRoleTemplateBinding>> {
    let binding = |n: usize| -> ClusterRoleTemplateBinding {
        let whole: Value = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "ClusterRoleTemplateBinding",
            "metadata": { "name": format!("b{n}"), "uid": format!("b{n}") },
            "spec": {
                "cluster": { "name": "shop" }, "role": { "name": "reader" },
                "subject": { "user": { "name": "ann", "uid": "1" } },
            },
        });
        serde_json::from_value(whole).unwrap()
    };
    let bindings = (0..number).map(|n| Change {
        object: Arc::new(binding(n)),
        write: Write::Delete,
    });
    bindings.collect()
}

#[tokio::test]
async fn binding_is_deleted_only_after_hub_confirms_deletion_of_subject() {
    for (code, uid, goes, fails) in [
        (404, "", true, false),
        // Another user with the same name.
        (200, "2", true, false),
        // The store does not have the user yet.
        (200, "1", false, false),
        (503, "", false, true),
    ] {
        let stores = Stores::synced_empty();
        let (client, requested) = hub(code, uid);
        let mut orphans = Orphans::new(client, &stores);
        let kept = orphans
            .only(deletions(2), |it| Binding::Cluster(&it.spec))
            .await;
        assert_eq!(kept.len(), if goes { 2 } else { 0 }, "{code} {uid}");
        assert_eq!(orphans.end().is_err(), fails, "{code} {uid}");
        assert_eq!(
            requested.load(Ordering::Relaxed),
            1,
            "both bindings share one request"
        );
    }
}

#[tokio::test]
async fn reconciliation_deletes_at_most_100_bindings() {
    let stores = Stores::synced_empty();
    let (client, _) = hub(404, "");
    let mut orphans = Orphans::new(client, &stores);
    let found = deletions(MAX_DELETIONS + 5);
    let kept = orphans.only(found, |it| Binding::Cluster(&it.spec)).await;
    assert_eq!((kept.len(), orphans.postponed), (MAX_DELETIONS, 5));
}
