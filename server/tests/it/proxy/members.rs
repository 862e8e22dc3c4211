//! Tests of users with roles in one cluster. Their open watches end after the revocation of a role.

use bytes::Bytes;
use drover_access::names::UserName;
use drover_api::ids::{ClusterUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, ClusterReference, ClusterRoleTemplateBinding, ClusterRoleTemplateBindingSpec,
    RoleReference, RoleTemplate, RoleTemplateSpec, UserReference,
};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::client::{by, empty, get, open};
use super::cluster::{Cluster, answer, fed};
use super::rig::{LIMIT, Rig};

/// Maximum time from the revocation of a role until open watches end.
const PROMISE: std::time::Duration = std::time::Duration::from_secs(5);

fn role(name: &str, resource: &str, verbs: &[&str]) -> RoleTemplate {
    let spec = RoleTemplateSpec {
        rules: vec![PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            ..PolicyRule::default()
        }],
        ..RoleTemplateSpec::default()
    };
    let mut role = RoleTemplate::new(name, spec);
    role.metadata.uid = Some(format!("uid-{name}"));
    role
}

/// Creates a binding with the fields that the server writes: the status, and the UIDs of the
/// references.
fn bound(name: &str, role: &str, cluster: &str, user: &str) -> ClusterRoleTemplateBinding {
    let spec = ClusterRoleTemplateBindingSpec {
        cluster: ClusterReference {
            name: cluster.to_owned(),
            uid: Some(ClusterUid::new(format!("uid-{cluster}"))),
        },
        role: RoleReference {
            name: role.to_owned(),
            uid: Some(RoleUid::new(format!("uid-{role}"))),
        },
        subject: BindingSubject {
            user: Some(UserReference {
                name: user.to_owned(),
                uid: Some(UserUid::new(format!("uid-{user}"))),
            }),
            group: None,
        },
    };
    let mut binding = ClusterRoleTemplateBinding::new(name, spec);
    binding.metadata.uid = Some(format!("uid-{name}"));
    binding
}

/// Creates a rig in which the user bob can read pods in the cluster `a`.
pub(super) async fn rig() -> Rig {
    let rig = Rig::new().await;
    rig.stores
        .role_templates
        .apply(role("reader", "pods", &["get", "watch"]));
    let bindings = &rig.stores.cluster_role_template_bindings;
    bindings.apply(bound("one", "reader", "a", "bob"));
    rig
}

pub(super) fn watched() -> Cluster {
    Cluster::new(async |_| {
        let (feed, body) = fed();
        feed.send(Ok(Frame::data(Bytes::from("event\n"))))
            .await
            .unwrap();
        tokio::spawn(async move { feed.closed().await });
        http::Response::new(body)
    })
}

async fn watch(rig: &Rig) -> http::Response<Incoming> {
    watch_at(rig, "/k8s/clusters/a/api/v1/pods").await
}

/// Opens a watch as the user bob. Waits for the first event.
pub(super) async fn watch_at(rig: &Rig, path: &str) -> http::Response<Incoming> {
    let path = format!("{path}?watch=true");
    let request = by(&rig.bob, "GET", &path).body(empty()).unwrap();
    let mut watch = open(rig.address, request).await;
    assert_eq!(watch.status(), 200);
    watch.frame().await.unwrap().unwrap();
    watch
}

pub(super) async fn ends(mut watch: http::Response<Incoming>) {
    let next = tokio::time::timeout(PROMISE, watch.frame()).await;
    let error = next
        .expect("the watch ends before the timeout")
        .expect("the watch ends with an error");
    assert!(error.is_err(), "{error:?}");
}

#[tokio::test]
async fn member_of_one_cluster_can_access_only_that_cluster() {
    let rig = rig().await;
    let (a, b) = (Cluster::echo(), Cluster::echo());
    let _attached = (
        a.attach(&rig, "a", "r1").await,
        b.attach(&rig, "b", "r1").await,
    );
    let reach = async |name: &str| {
        let path = format!("/k8s/clusters/{name}/api/v1/pods");
        get(&rig, &rig.bob, &path).await
    };
    assert_eq!(reach("a").await.code(), 200);
    let name = UserName::of(&UserUid::new("uid-bob"));
    let header = |name: &str| a.seen.lock()[0].headers.get(name).cloned();
    assert_eq!(header("impersonate-user").unwrap(), name.as_str());
    let (there, absent, hub) = (reach("b").await, reach("none").await, reach("local").await);
    for refused in [&there, &absent, &hub] {
        assert_eq!(refused.code(), 403);
    }
    assert_eq!(there.json()["message"], absent.json()["message"]);
    assert!(b.seen.lock().is_empty());
}

#[tokio::test]
async fn watch_is_closed_when_the_binding_that_authorized_the_watch_is_deleted() {
    let rig = rig().await;
    let _attached = watched().attach(&rig, "a", "r1").await;
    let watch = watch(&rig).await;
    rig.stores.cluster_role_template_bindings.remove("one");
    ends(watch).await;
    let record = rig.audited(|r| r["outcome"] == "revoked").await;
    assert_eq!(record["reason"], "RightRemoved");
    let path = "/k8s/clusters/a/api/v1/pods";
    assert_eq!(get(&rig, &rig.bob, path).await.code(), 403);
}

#[tokio::test]
async fn watch_is_closed_when_its_role_is_removed_and_a_weaker_role_remains() {
    let rig = rig().await;
    let stores = &rig.stores;
    stores
        .role_templates
        .apply(role("classes", "nodes", &["get"]));
    stores
        .cluster_role_template_bindings
        .apply(bound("two", "classes", "a", "bob"));
    let _attached = watched().attach(&rig, "a", "r1").await;
    let watch = watch(&rig).await;
    stores.cluster_role_template_bindings.remove("one");
    ends(watch).await;
}

#[tokio::test]
async fn watch_is_closed_when_verb_watch_is_removed_from_its_authorizing_role() {
    let rig = rig().await;
    let _attached = watched().attach(&rig, "a", "r1").await;
    let watch = watch(&rig).await;
    rig.stores
        .role_templates
        .apply(role("reader", "pods", &["get"]));
    ends(watch).await;
}

#[tokio::test]
async fn added_or_replaced_role_does_not_close_the_watch() {
    let rig = rig().await;
    let bindings = &rig.stores.cluster_role_template_bindings;
    let _attached = watched().attach(&rig, "a", "r1").await;
    let mut watch = watch(&rig).await;
    bindings.apply(bound("other", "reader", "a", "bob"));
    bindings.remove("one");
    bindings.apply(bound("anns", "reader", "b", "ann"));
    let next = tokio::time::timeout(std::time::Duration::from_secs(2), watch.frame()).await;
    assert!(next.is_err(), "the watch ended: {next:?}");
}

// Attack group 4: a permission to impersonate in one cluster is invalid in others and on the hub.
#[tokio::test]
async fn impersonation_permission_in_one_cluster_is_invalid_in_other_clusters() {
    let rig = rig().await;
    let stores = &rig.stores;
    stores
        .role_templates
        .apply(role("actor", "users", &["impersonate"]));
    let bindings = &stores.cluster_role_template_bindings;
    bindings.apply(bound("acts", "actor", "a", "bob"));
    bindings.apply(bound("reads", "reader", "b", "bob"));
    let agrees = || {
        Cluster::echo().on_controller_lane(async |request: http::Request<Incoming>| {
            if request.uri().path() == "/livez" {
                return answer(200, "ok");
            }
            let review = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: serde_json::Value = serde_json::from_slice(&review).unwrap();
            review["status"] = serde_json::json!({ "allowed": true });
            answer(201, review.to_string())
        })
    };
    let (a, b) = (agrees(), agrees());
    let _attached = (
        a.attach(&rig, "a", "r1").await,
        b.attach(&rig, "b", "r1").await,
    );
    let acting = async |cluster: &str| {
        let path = format!("/k8s/clusters/{cluster}/api/v1/pods");
        let request = by(&rig.bob, "GET", &path).header("impersonate-user", "ann");
        let requested = open(rig.address, request.body(empty()).unwrap());
        tokio::time::timeout(LIMIT, requested)
            .await
            .unwrap()
            .status()
    };
    assert_eq!(acting("a").await, 200);
    assert_eq!(acting("b").await, 403);
    assert_eq!(acting("local").await, 403);
    assert!(b.seen.lock().is_empty());
}

#[tokio::test]
async fn refusal_by_a_cluster_is_relayed_with_a_warning_that_lists_the_roles() {
    let rig = rig().await;
    let body = r#"{"kind":"Status","code":403,"message":"no"}"#;
    let refusing = Cluster::new(move |_| async move { answer(403, body) });
    let _attached = refusing.attach(&rig, "a", "r1").await;
    let got = get(&rig, &rig.bob, "/k8s/clusters/a/api/v1/secrets").await;
    assert_eq!((got.code(), &got.body[..]), (403, body.as_bytes()));
    let warning = got.head.headers["warning"].to_str().unwrap();
    assert_eq!(
        warning,
        "299 - \"your roles in a: reader; run \"drover access explain\" to list permissions and their sources\""
    );
}
