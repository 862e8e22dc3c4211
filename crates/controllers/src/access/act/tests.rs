use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use drover_access::grants::{Bound, Downstream, DownstreamScope, Subject as GrantSubject};
use drover_access::names::UserName;
use drover_api::group::ACCESS_LABEL;
use drover_api::ids::{ProjectUid, UserUid};
use drover_apply::inventory::Inventory;
use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::access::desired::in_cluster;
use crate::access::desired::tests::read_pods;

/// Stored objects of the fake cluster, by request path.
type StoredObjects = BTreeMap<String, Value>;

/// A fake cluster with roles and bindings. Records the effective access after each write.
#[derive(Clone, Default)]
struct FakeCluster(Arc<Mutex<FakeState>>);

#[derive(Default)]
struct FakeState {
    objects: StoredObjects,
    /// The fake cluster rejects the creation of an object if the request path contains this text.
    rejected_path: Option<&'static str>,
    history: Vec<EffectiveAccess>,
}

/// The users that have each of the three permissions under test.
#[derive(Clone, Debug, Default, PartialEq)]
struct EffectiveAccess {
    impersonated: BTreeSet<String>,
    in_cluster_wide: BTreeSet<String>,
    in_shop: BTreeSet<String>,
}

impl EffectiveAccess {
    fn each(&self) -> [&BTreeSet<String>; 3] {
        [&self.impersonated, &self.in_cluster_wide, &self.in_shop]
    }
}

impl FakeCluster {
    fn client(&self) -> Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let (code, body_json) = cluster.respond(&parts.method, parts.uri.path(), body);
                let mut response = Response::new(Body::from(body_json.to_string().into_bytes()));
                *response.status_mut() = http::StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn respond(&self, method: &Method, path: &str, body: Value) -> (u16, Value) {
        let mut inner = self.0.lock();
        let failure = |code: u16| {
            let body_json = json!({ "kind": "Status", "status": "Failure", "code": code,
                "reason": "Because", "message": "no" });
            (code, body_json)
        };
        let respond = match *method {
            Method::GET => {
                let kind = path.rsplit('/').next().unwrap_or_default();
                let of_kind = |path: &str| path.rsplit('/').nth(1) == Some(kind);
                let labelled =
                    |object: &Value| !object["metadata"]["labels"][ACCESS_LABEL].is_null();
                let items = inner.objects.iter();
                let items = items.filter(|(path, object)| of_kind(path) && labelled(object));
                let items: Vec<_> = items.map(|(_, object)| object.clone()).collect();
                return (200, json!({ "metadata": {}, "items": items }));
            }
            Method::POST if inner.rejected_path.is_some_and(|part| path.contains(part)) => {
                failure(500)
            }
            Method::POST => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{path}/{name}");
                if inner.objects.contains_key(&path) {
                    return failure(409);
                }
                inner.objects.insert(path, body.clone());
                (201, body)
            }
            // A binding's roleRef is immutable.
            Method::PUT
                if inner
                    .objects
                    .get(path)
                    .is_some_and(|it| it["roleRef"] != body["roleRef"]) =>
            {
                failure(422)
            }
            Method::PUT if inner.objects.contains_key(path) => {
                inner.objects.insert(path.to_owned(), body.clone());
                (200, body)
            }
            Method::DELETE => match inner.objects.remove(path) {
                Some(_) => (200, json!({ "kind": "Status", "status": "Success" })),
                None => failure(404),
            },
            _ => failure(404),
        };
        let effective_access = effective_access(&inner.objects);
        inner.history.push(effective_access);
        respond
    }

    /// Applies the objects, and returns the effective access after each write.
    async fn apply(
        &self,
        desired: &DesiredAccess,
    ) -> (Result<(), ApplyError>, Vec<EffectiveAccess>) {
        self.0.lock().history.clear();
        let applied = apply(&self.client(), ACCESS_LABEL, desired).await;
        (applied, std::mem::take(&mut self.0.lock().history))
    }

    fn effective_access(&self) -> EffectiveAccess {
        effective_access(&self.0.lock().objects)
    }
}

fn effective_access(objects: &StoredObjects) -> EffectiveAccess {
    let subjects = |object: &Value| -> Vec<String> {
        let found = object["subjects"].as_array().into_iter().flatten();
        let names = found.filter_map(|subject| subject["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let role = |object: &Value| {
        let role = object["roleRef"]["name"].as_str().unwrap_or_default();
        let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
        objects.get(&path)
    };
    let mut effective_access = EffectiveAccess::default();
    for (path, binding) in objects
        .iter()
        .filter(|(path, _)| path.contains("bindings/"))
    {
        let Some(role) = role(binding) else { continue };
        if path.contains("/drover-user-") {
            let names = role["rules"][0]["resourceNames"].as_array();
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            effective_access
                .impersonated
                .extend(names.map(str::to_owned));
        } else if path.contains("/namespaces/shop/") {
            effective_access.in_shop.extend(subjects(binding));
        } else {
            effective_access.in_cluster_wide.extend(subjects(binding));
        }
    }
    effective_access
}

/// Returns the objects that grant the three permissions under test to these users.
fn desired(users: Range<usize>) -> DesiredAccess {
    let user = |n| UserName::of(&UserUid::new(format!("{n:05}")));
    let bound = |uid: &str, scope| Bound {
        role: uid.to_owned(),
        uid: uid.to_owned(),
        rights: read_pods(),
        scope,
        subjects: users.clone().map(|n| GrantSubject::User(user(n))).collect(),
    };
    let shop = DownstreamScope::Project(ProjectUid::new("p"), vec!["shop".to_owned()]);
    in_cluster(&Downstream {
        bound: vec![
            bound("reader", DownstreamScope::Cluster),
            bound("seller", shop),
        ],
        users: users.clone().map(user).collect(),
        groups: BTreeSet::new(),
    })
}

async fn with(users: Range<usize>) -> (FakeCluster, EffectiveAccess) {
    let cluster = FakeCluster::default();
    cluster.apply(&desired(users)).await.0.unwrap();
    let effective_access = cluster.effective_access();
    (cluster, effective_access)
}

/// Asserts that a user who keeps a permission has the permission after every write, and that all
/// revocations precede the first grant.
fn assert_no_interruption(
    before: &EffectiveAccess,
    history: &[EffectiveAccess],
    after: &EffectiveAccess,
) {
    let names = |names: &EffectiveAccess, n: usize| names.each()[n].clone();
    for n in 0..3 {
        let (before, after) = (names(before, n), names(after, n));
        for now in history {
            let now = names(now, n);
            let missing = before
                .intersection(&after)
                .find(|name| !now.contains(*name));
            assert_eq!(missing, None, "lost a permission that the user keeps");
            let remaining = before.difference(&after).find(|name| now.contains(*name));
            let came = after.difference(&before).find(|name| now.contains(*name));
            assert!(
                remaining.is_none() || came.is_none(),
                "{remaining:?} still has the permission that {came:?} received"
            );
        }
    }
}

#[tokio::test]
async fn users_keep_access_while_the_number_of_binding_chunks_changes() {
    for (before, after) in [
        // The number of chunks doubles, then halves.
        (0..900, 0..1800),
        (0..1800, 0..900),
        // The number of chunks changes, and some users are removed and others are added.
        (0..900, 300..4300),
        (300..4300, 0..900),
        (0..2500, 1500..3000),
        // The number of chunks stays.
        (0..1500, 100..1600),
        (0..10, 0..0),
    ] {
        let (cluster, before) = with(before).await;
        let desired = desired(after.clone());
        let (applied, history) = cluster.apply(&desired).await;
        applied.unwrap();
        let now = cluster.effective_access();
        assert_eq!(now.each().map(BTreeSet::len), [after.len(); 3]);
        assert_no_interruption(&before, &history, &now);
        let (applied, again) = cluster.apply(&desired).await;
        applied.unwrap();
        assert_eq!(again, [], "unchanged objects are not written");
    }
}

#[tokio::test]
async fn users_keep_access_and_revoked_users_lose_access_after_failed_binding_writes() {
    let desired = desired(100..1800);
    for rejected_path in ["/clusterroles", "/clusterrolebindings", "/rolebindings"] {
        let (cluster, before) = with(0..900).await;
        cluster.0.lock().rejected_path = Some(rejected_path);
        let (applied, history) = cluster.apply(&desired).await;
        applied.unwrap_err();
        let now = cluster.effective_access();
        assert_no_interruption(&before, &history, &now);
        for (before, has) in before.each().into_iter().zip(now.each()) {
            let (remaining, stayed): (Vec<_>, Vec<_>) = (
                before.iter().take(100).collect(),
                before.iter().skip(100).collect(),
            );
            assert!(
                remaining.iter().all(|name| !has.contains(*name)),
                "{rejected_path}"
            );
            assert!(
                stayed.iter().all(|name| has.contains(*name)),
                "{rejected_path}"
            );
        }
        cluster.0.lock().rejected_path = None;
        cluster.apply(&desired).await.0.unwrap();
        assert_eq!(
            cluster.effective_access().each().map(BTreeSet::len),
            [1700; 3]
        );
    }
}

#[tokio::test]
async fn modified_binding_chunk_is_deleted_before_other_writes() {
    let (cluster, _) = with(0..1800).await;
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/drover-user-1";
    {
        let objects = &mut cluster.0.lock().objects;
        objects.get_mut(path).unwrap()["roleRef"]["name"] = json!("cluster-admin");
    }
    // All creations fail.
    cluster.0.lock().rejected_path = Some("/");
    cluster.apply(&desired(0..3000)).await.0.unwrap_err();
    assert!(!cluster.0.lock().objects.contains_key(path));
}

#[tokio::test]
async fn failed_write_in_one_namespace_does_not_prevent_writes_in_other_namespaces() {
    let (cluster, _) = with(0..900).await;
    cluster.0.lock().rejected_path = Some("/namespaces/shop/");
    cluster.apply(&desired(100..1800)).await.0.unwrap_err();
    let (other, _) = with(100..1800).await;
    let in_the_cluster = |cluster: &FakeCluster| -> StoredObjects {
        let mut objects = cluster.0.lock().objects.clone();
        objects.retain(|path, _| !path.contains("/namespaces/"));
        objects
    };
    assert_eq!(in_the_cluster(&cluster), in_the_cluster(&other));
}

#[tokio::test]
async fn unlabelled_object_with_the_name_of_a_drover_binding_is_replaced() {
    let (cluster, access_before) = with(0..10).await;
    let bindings = || {
        let objects = cluster.0.lock().objects.clone();
        let bindings = objects
            .into_iter()
            .filter(|(path, _)| path.contains("bindings/"));
        bindings.collect::<StoredObjects>()
    };
    let before = bindings();
    for path in before.keys() {
        let objects = &mut cluster.0.lock().objects;
        let binding = objects.get_mut(path).unwrap();
        binding["roleRef"]["name"] = json!("nothing");
        binding["metadata"]["labels"] = json!({});
    }
    assert_ne!(cluster.effective_access(), access_before);
    cluster.apply(&desired(0..10)).await.0.unwrap();
    assert_eq!(bindings(), before);
}

#[tokio::test]
async fn undesired_bindings_are_deleted_first_if_the_list_is_incomplete() {
    let desired = desired(0..10).bindings;
    let mut surplus = desired[0].clone();
    surplus.metadata.name = Some("one-of-many".to_owned());
    let objects = || vec![surplus.clone(), desired[0].clone()];
    let goes_first = |complete| {
        let present = Inventory {
            objects: objects(),
            complete,
        };
        let gone = plan::for_bindings(&present, &desired)[0].prune.clone();
        gone.into_iter()
            .map(|binding| binding.metadata.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(goes_first(false), [surplus.metadata.name.clone()]);
    assert!(
        goes_first(true).is_empty(),
        "the subject may have no other binding yet"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn users_keep_access_during_random_changes_of_binding_subjects(
        (from, to) in (0..3000_usize, 0..2500_usize),
        (since, until) in (0..3000_usize, 0..2500_usize),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (cluster, before) = with(from..from + to).await;
            let (applied, history) = cluster.apply(&desired(since..since + until)).await;
            applied.unwrap();
            assert_no_interruption(&before, &history, &cluster.effective_access());
        });
    }
}
