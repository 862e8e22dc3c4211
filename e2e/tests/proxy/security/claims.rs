//! Attack groups 1, 2, 3 and 5: identity headers that clients send.

use drover_e2e::{World, eventually};

use super::{
    REVIEW, SOON, assert_authenticated_as_administrator, assert_not_granted_by_cluster,
    assert_not_received_by_cluster, audited, review,
};
use crate::wire::Request;

/// Attack group 1: the client's `Connection` header lists headers that Drover sets.
pub(crate) async fn connection_header_cannot_remove_impersonation_headers(world: &mut World) {
    let lists = [
        "Connection: Impersonate-User",
        "connection: IMPERSONATE-USER, impersonate-group",
        "Connection: Impersonate-Extra-Token, Authorization",
        "Connection: Keep-Alive, TE, Impersonate-User",
        "Connection: keep-alive\r\nConnection: Impersonate-User\r\nConnection: Impersonate-Group",
        "Proxy-Connection: Impersonate-User",
        "Connection: drover-lane, Impersonate-User",
        "Keep-Alive: Impersonate-User\r\nConnection: Keep-Alive",
        "TE: trailers\r\nConnection: TE, Impersonate-User",
    ];
    for (number, list) in lists.iter().enumerate() {
        let mark = format!("connection-{number}-");
        let answer = review(&mark).authorized(world).line(list).send(world).await;
        if answer.is_refusal() {
            assert_not_received_by_cluster(world, &mark);
        } else {
            assert_authenticated_as_administrator(world, &answer).await;
        }
        audited(world, &mark).await;
    }
}

/// Attack groups 2 and 5: identity headers in every spelling, a group without a user, and empty and
/// duplicate headers.
pub(crate) async fn identity_headers_of_clients_are_not_forwarded_to_the_cluster(
    world: &mut World,
) {
    let claims = [
        "Impersonate-User: somebody",
        "impersonate-user: system:admin",
        "IMPERSONATE-USER: somebody",
        "Impersonate-User: ",
        "Impersonate-User: admin\r\nImpersonate-User: somebody",
        "Impersonate-Group: system:masters",
        "Impersonate-User: admin\r\nImpersonate-Group: system:masters",
        "Impersonate-Uid: 0",
        "Impersonate-User: admin\r\nImpersonate-Uid: 0",
        "Impersonate-Extra-Scopes: all",
        "Impersonate-User: admin\r\nImpersonate-Extra-Scopes: all",
        "Impersonate-User: drover%3Auser%3A1",
        "Impersonate-User: admin\r\nImpersonate-Group: drover:local:x%0d%0asystem:masters",
        "Impersonate_User: somebody",
        "Impersonate_Group: system:masters",
        "Impersonate-Anything: x",
        "X-Remote-User: somebody",
        "X-Remote-Group: system:masters",
        "X-Remote-Extra-Scopes: all",
        "X_Remote_User: somebody",
        "Drover-Lane: controller",
        "Forwarded: for=10.0.0.1\r\nX-Forwarded-User: somebody",
        "Cookie: session=somebody",
    ];
    for (number, claim) in claims.iter().enumerate() {
        let mark = format!("claim-{number}-");
        let answer = review(&mark)
            .authorized(world)
            .line(claim)
            .send(world)
            .await;
        if answer.is_refusal() {
            assert_not_granted_by_cluster(world, &mark);
        } else {
            assert_eq!(answer.code, 201, "{claim}: {answer:?}");
            assert_authenticated_as_administrator(world, &answer).await;
        }
        audited(world, &mark).await;
    }
}

/// Attack group 3: impersonation with `kubectl --as`. Drover rejects the request, although RBAC
/// allows the impersonation.
pub(crate) async fn masters_nodes_and_service_accounts_cannot_be_impersonated(world: &mut World) {
    for (user, group) in [
        ("system:admin", None),
        ("system:masters", None),
        ("system:serviceaccount:drover-agent:drover-agent", None),
        ("system:node:node-1", Some("system:nodes")),
        ("admin", Some("system:masters")),
        ("admin", Some("system:nodes")),
        ("admin", Some("accounts")),
        ("direct-user", None),
    ] {
        let group = group.map(|group| format!("--as-group={group}"));
        let user = format!("--as={user}");
        let words = ["auth", "whoami", &user];
        let words = words.into_iter().chain(group.as_deref());
        let output = world.through().output(words).await.unwrap();
        assert!(!output.status.success(), "{user} {group:?}: {output:?}");
    }
    let mark = "acting-as-masters";
    let line = "Impersonate-User: admin\r\nImpersonate-Group: system:masters";
    let answer = review(mark).authorized(world).line(line).send(world).await;
    assert!(answer.is_refusal(), "{answer:?}");
    assert_not_received_by_cluster(world, mark);
    assert_eq!(audited(world, mark).await["outcome"], "refused");
    // The cluster allows an administrator to impersonate another user of Drover.
    let peter = world.person("peter", true).await.unwrap();
    let own = peter.kubectl_with(&peter.token_kubeconfig("east").await.unwrap());
    let whoami = [
        "auth",
        "whoami",
        "-o",
        "jsonpath={.status.userInfo.username}",
    ];
    let named = eventually("peter's binding", SOON, async || own.run(whoami).await);
    let through = world.through();
    let acting = eventually("peter to be impersonated", SOON, async || {
        through.run(whoami.iter().chain(&["--as=peter"])).await
    });
    assert_eq!(named.await.unwrap().stdout, acting.await.unwrap().stdout);
    // The same rules apply on the hub.
    let target = format!("/k8s/clusters/local{REVIEW}?fieldManager=acting-at-the-hub");
    let request = Request::new("POST", &target).json(super::REVIEW_BODY);
    let answer = request.authorized(world).line(line).send(world).await;
    assert!(answer.is_refusal(), "{answer:?}");
}
