//! Tests of the agent with a hostile server (attack groups 1–3, 5, 19). Every request passes
//! through the real lanes to a real API server. The response shows whether the request reached the
//! API server.

use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::lanes::{Lanes, TunnelContext as Context};
use drover_api::agent::REFUSED_HEADER;
use drover_e2e::{Component, SharedControlPlane};
use drover_tunnel::protocol::Version;
use drover_tunnel::{Limits, OpenOptions, ServeOptions, ServerBudget, Tunnel, serve};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::service::service_fn;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::rig::{NAMESPACE, Rig, apply, as_account, in_pod, outside, replica};

/// The server's end of a tunnel to real lanes. The test sends hostile requests through the tunnel.
struct Hostile {
    tunnel: Tunnel,
    lanes: Arc<Lanes>,
}

async fn hostile(config: &kube::Config) -> Hostile {
    let (near, far) = tokio::io::duplex(256 * 1024);
    let lanes = Arc::clone(&replica(config, "pod-0").connection.lanes);
    let context = Arc::new(Context {
        protocol: Version::V2,
        closed: CancellationToken::new(),
        keys: Arc::clone(&lanes.report),
    });
    let serving = Arc::clone(&lanes);
    let service = service_fn(move |request| {
        let (lanes, context) = (Arc::clone(&serving), Arc::clone(&context));
        async move { Ok::<_, std::convert::Infallible>(lanes.serve(&context, request).await) }
    });
    tokio::spawn(serve(
        far,
        service,
        ServeOptions::default(),
        CancellationToken::new(),
    ));
    let options = OpenOptions::new(ServerBudget::new(Limits::SERVER));
    let (tunnel, driver) = Tunnel::open(near, options).await.unwrap();
    tokio::spawn(driver);
    Hostile { tunnel, lanes }
}

impl Hostile {
    async fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)]) -> Response<Value> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
        let (head, body) = self.tunnel.send(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Response::from_parts(head, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
}

async fn applied() -> (Rig, SharedControlPlane) {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.create("shop").await;
    apply(&cluster, &rig.import("shop").await).await;
    (rig, cluster)
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one table and the assertions about its effects"
)]
async fn agent_rejects_hostile_requests_of_the_server() {
    let (_rig, cluster) = applied().await;
    let hostile = hostile(&in_pod(&cluster).await).await;
    let user = ("drover-lane", "user");
    let ann = ("impersonate-user", "drover:user:ann");
    for (case, method, uri, headers, reason) in [
        ("no lane", "GET", "/api", vec![], "UnknownLane"),
        (
            "an unknown lane",
            "GET",
            "/api",
            vec![("drover-lane", "node")],
            "UnknownLane",
        ),
        (
            "two lanes",
            "GET",
            "/api",
            vec![user, ("drover-lane", "controller")],
            "UnknownLane",
        ),
        ("no user", "GET", "/api", vec![user], "NoUser"),
        ("two users", "GET", "/api", vec![user, ann, ann], "NoUser"),
        (
            "an administrator",
            "GET",
            "/api",
            vec![user, ("impersonate-user", "system:admin")],
            "ForeignUser",
        ),
        (
            "a service account",
            "GET",
            "/api",
            vec![
                user,
                ("impersonate-user", "system:serviceaccount:kube-system:x"),
            ],
            "ForeignUser",
        ),
        (
            "masters",
            "GET",
            "/api",
            vec![user, ann, ("impersonate-group", "system:masters")],
            "ForeignGroup",
        ),
        (
            "nodes",
            "GET",
            "/api",
            vec![user, ann, ("impersonate-group", "system:nodes")],
            "ForeignGroup",
        ),
        (
            "a UID",
            "GET",
            "/api",
            vec![user, ann, ("impersonate-uid", "1")],
            "ForeignImpersonation",
        ),
        (
            "underscores",
            "GET",
            "/api",
            vec![user, ann, ("impersonate_group", "system:masters")],
            "ForeignImpersonation",
        ),
        (
            "a credential",
            "GET",
            "/api",
            vec![user, ann, ("authorization", "Bearer x")],
            "BringsCredential",
        ),
        (
            "a group without a user",
            "GET",
            "/api",
            vec![user, ("impersonate-group", "drover:local:x")],
            "NoUser",
        ),
        (
            "a user on the controller lane",
            "GET",
            "/api",
            vec![("drover-lane", "controller"), ann],
            "ForeignImpersonation",
        ),
        (
            "the API on the report lane",
            "GET",
            "/api",
            vec![("drover-lane", "report")],
            "NotAReport",
        ),
        (
            "dots",
            "GET",
            "/api/%2e%2e/x",
            vec![("drover-lane", "controller")],
            "ForeignTarget",
        ),
    ] {
        let answer = hostile.send(method, uri, &headers).await;
        let reported = answer
            .headers()
            .get(REFUSED_HEADER)
            .map(|value| value.to_str().unwrap());
        assert_eq!(
            (answer.status().as_u16(), reported),
            (403, Some(reason)),
            "{case}"
        );
        assert_eq!(answer.body()["kind"], "Status", "{case}");
    }
    let counted: u32 = hostile
        .lanes
        .refusals
        .take()
        .iter()
        .map(|refusal| refusal.count)
        .sum();
    assert_eq!(
        counted, 16,
        "the agent counts each refusal for its next report"
    );
}

#[tokio::test]
async fn request_with_a_foreign_authority_is_sent_to_the_api_server_of_the_cluster() {
    let (_rig, cluster) = applied().await;
    let hostile = hostile(&in_pod(&cluster).await).await;
    let lane = [("drover-lane", "controller"), ("host", "169.254.169.254")];
    for uri in [
        "http://169.254.169.254/version",
        "http://127.0.0.1:2379/version",
        "/version",
    ] {
        let answer = hostile.send("GET", uri, &lane).await;
        assert_eq!(answer.status(), 200, "{uri}");
        assert_eq!(answer.body()["gitVersion"], "v1.36.3", "{uri}");
    }
}

#[tokio::test]
async fn user_lane_request_without_authorized_user_name_is_rejected() {
    let (_rig, cluster) = applied().await;
    let hostile = hostile(&in_pod(&cluster).await).await;
    let stranger = [
        ("drover-lane", "user"),
        ("impersonate-user", "drover:user:stranger"),
    ];
    let answer = hostile.send("GET", "/api/v1/namespaces", &stranger).await;
    assert_eq!(answer.status(), 403);
    let message = answer.body()["message"].as_str().unwrap();
    assert!(message.contains("cannot impersonate"), "{message}");
    // The token of the agent's account has only the permissions of every authenticated user.
    let account = kube::Client::try_from(as_account(&cluster, "drover-user").await).unwrap();
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(account, NAMESPACE);
    let refused = secrets
        .list(&kube::api::ListParams::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 403),
        "{refused}"
    );
}

#[tokio::test]
async fn lane_requests_are_sent_without_the_client_certificate_of_the_kubeconfig() {
    let (_rig, cluster) = applied().await;
    // The kubeconfig belongs to system:masters. The lane must still use its own service account.
    let hostile = hostile(&outside(&cluster).await).await;
    let lane = [("drover-lane", "controller")];
    let answer = hostile
        .send("GET", "/api/v1/namespaces/kube-system/secrets", &lane)
        .await;
    assert_eq!(answer.status(), 403);
    let message = answer.body()["message"].as_str().unwrap();
    assert!(
        message.contains("system:serviceaccount:drover-agent:drover-controller"),
        "{message}"
    );
}

#[tokio::test]
async fn service_accounts_of_the_manifest_have_only_their_documented_permissions() {
    let (_rig, cluster) = applied().await;
    for (account, verb, resource, allowed) in [
        ("drover-agent", "get", "secrets/drover-agent-key", "yes"),
        ("drover-agent", "list", "secrets", "no"),
        ("drover-agent", "get", "secrets/other", "no"),
        ("drover-agent", "create", "clusterrolebindings", "no"),
        ("drover-user", "get", "pods", "no"),
        ("drover-user", "impersonate", "users/system:admin", "no"),
        ("drover-controller", "list", "secrets", "no"),
        ("drover-controller", "create", "rolebindings", "yes"),
        ("drover-controller", "create", "pods", "no"),
        ("drover-controller", "get", "configmaps", "no"),
        (
            "drover-controller",
            "delete",
            "namespaces/kube-system",
            "no",
        ),
        ("drover-report", "list", "pods", "yes"),
        ("drover-report", "get", "secrets", "no"),
        ("drover-report", "delete", "pods", "no"),
    ] {
        let name = format!("--as=system:serviceaccount:drover-agent:{account}");
        let output = cluster
            .command_line()
            .output(["auth", "can-i", verb, resource, "-n", NAMESPACE, &name])
            .await
            .unwrap();
        assert_eq!(
            output.stdout.trim(),
            allowed,
            "{account} {verb} {resource}: {output:?}"
        );
    }
}

#[tokio::test]
async fn agent_reports_an_unreachable_or_paused_api_server() {
    let (_rig, mut cluster) = applied().await;
    let hostile = hostile(&in_pod(&cluster).await).await;
    let lane = [("drover-lane", "controller")];
    assert_eq!(hostile.send("GET", "/version", &lane).await.status(), 200);
    cluster.kill(Component::ApiServer).unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            // A pooled connection can break first; the agent then responds with 502.
            let answer = hostile.send("GET", "/version", &lane).await;
            if answer.status() == 503 {
                return answer;
            }
            assert_eq!(answer.status(), 502);
        }
    })
    .await
    .unwrap();
    let message = answer.body()["message"].as_str().unwrap();
    assert!(
        message.contains("the API server does not respond"),
        "{message}"
    );
    cluster.restart(Component::ApiServer).await.unwrap();
    assert_eq!(hostile.send("GET", "/version", &lane).await.status(), 200);
}
