//! Tests that attacks on the real server fail. docs/security.md lists the attack groups. The audit
//! log must contain each attack that reaches the proxy.

pub(crate) mod claims;
pub(crate) mod credentials;
pub(crate) mod paths;
pub(crate) mod protocol;
pub(crate) mod registration;
pub(crate) mod secrets;

use std::time::Duration;

use drover_e2e::{AuditEvent, World, eventually};
use serde_json::Value;

use crate::wire::{Answer, Request};

const SOON: Duration = Duration::from_secs(20);
/// The path of a SelfSubjectReview.
const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW_BODY: &str = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;

/// Returns a SelfSubjectReview request to `east` without a credential. The URL contains `mark`,
/// which identifies the request in audit logs.
fn review(mark: &str) -> Request {
    let target = format!("/k8s/clusters/east{REVIEW}?fieldManager={mark}");
    Request::new("POST", &target).json(REVIEW_BODY)
}

/// Returns the administrator's user name in clusters.
async fn administrator(world: &World) -> String {
    let words = [
        "get",
        "users.management.drover.dev",
        "admin",
        "-o",
        "jsonpath={.metadata.uid}",
    ];
    let uid = world.hub.kubectl(words).await.unwrap().stdout;
    format!("drover:user:{uid}")
}

/// Asserts that the cluster authenticated the request as the administrator.
async fn assert_authenticated_as_administrator(world: &World, answer: &Answer) {
    let review: Value = serde_json::from_str(&answer.body).unwrap();
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], administrator(world).await, "{answer:?}");
    let known = |group: &str| group == "system:authenticated" || group.starts_with("drover:");
    let groups = user["groups"].as_array().unwrap();
    let strange = groups.iter().find(|group| !known(group.as_str().unwrap()));
    assert_eq!(strange, None, "{answer:?}");
    for key in user["extra"].as_object().into_iter().flatten() {
        assert!(key.0.contains("drover.dev/"), "{answer:?}");
    }
}

/// Returns the record in the server's audit log of the request whose URL contains `mark`.
async fn audited(world: &World, mark: &str) -> Value {
    eventually(&format!("{mark} in the audit log"), SOON, async || {
        let records = world.server.audit().map_err(|error| error.to_string())?;
        let fits = |record: &&Value| {
            record["path"]
                .as_str()
                .is_some_and(|path| path.contains(mark))
        };
        let found = records.iter().find(fits).cloned();
        found.ok_or_else(|| "not there".to_owned())
    })
    .await
    .unwrap()
}

/// Returns the number of rejected unauthenticated requests in the audit log. The log contains one
/// record per request, or a record with a count of several requests.
fn unauthenticated_refusals(world: &World) -> u64 {
    let records = world.server.audit().unwrap();
    let unauthenticated =
        |record: &&Value| record["user"].is_null() && record["outcome"] == "refused";
    let refused = records.iter().filter(unauthenticated);
    refused.map(|r| r["count"].as_u64().unwrap_or(1)).sum()
}

/// Waits until the audit log contains at least `before + requests` rejected unauthenticated
/// requests. The server writes counts once a minute.
async fn assert_refusals_audited(world: &World, before: u64, requests: usize) {
    let expected = before + requests as u64;
    let case = format!("{requests} refusals in the audit log");
    eventually(&case, Duration::from_secs(100), async || {
        let seen = unauthenticated_refusals(world);
        let enough = seen >= expected;
        enough
            .then_some(())
            .ok_or_else(|| format!("{seen} of {expected}"))
    })
    .await
    .unwrap();
}

/// Asserts that the cluster returned no success status for the request whose URL contains `mark`.
fn assert_not_granted_by_cluster(world: &World, mark: &str) {
    let events = world.east.cluster.audit_events().unwrap();
    let granted = |event: &&AuditEvent| {
        let code = event
            .response_status
            .as_ref()
            .map_or(0, |status| status.code);
        event.request_uri.contains(mark) && code < 400
    };
    let granted = events.iter().find(granted);
    assert!(granted.is_none(), "{granted:?}");
}

/// Asserts that the cluster did not receive the request whose URL contains `mark`.
fn assert_not_received_by_cluster(world: &World, mark: &str) {
    let events = world.east.cluster.audit_events().unwrap();
    let seen = events.iter().find(|event| event.request_uri.contains(mark));
    assert!(seen.is_none(), "{seen:?}");
}
