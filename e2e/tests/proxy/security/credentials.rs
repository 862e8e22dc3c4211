//! Attack groups 6, 7, 8 and 12: missing, duplicate, guessed and misused credentials.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use drover_e2e::World;

use super::{
    assert_not_received_by_cluster, assert_refusals_audited, audited, review,
    unauthenticated_refusals,
};
use crate::wire::{self, Request};

/// Attack group 6: requests whose credential is missing, malformed or duplicate.
pub(crate) async fn missing_duplicate_and_malformed_credentials_are_rejected(world: &mut World) {
    let token = wire::token(world);
    let basic = STANDARD.encode(format!("admin:{}", world.admin.password));
    let encoded = URL_SAFE_NO_PAD.encode(&token);
    let cases = [
        String::new(),
        "Authorization:".to_owned(),
        "Authorization: Bearer".to_owned(),
        "Authorization: Bearer ".to_owned(),
        "Authorization: Bearer \t ".to_owned(),
        format!("Authorization: {token}"),
        format!("Authorization: Basic {basic}"),
        format!("Authorization: Bearer {token} {token}"),
        format!("Authorization: Bearer {token},Bearer {token}"),
        format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}"),
        format!("Authorization: Bearer {token}\r\nAuthorization: Bearer other"),
        format!("Authorization: Bearer {token}\0"),
        format!("Authorization: Bearer\r\n {token}"),
        format!(
            "Authorization: Bearer {token}\r\n\
             Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{encoded}"
        ),
        format!("Cookie: session={token}"),
        format!("X-Auth-Token: {token}"),
    ];
    let before = unauthenticated_refusals(world);
    for (number, line) in cases.iter().enumerate() {
        let mark = format!("credential-{number}-");
        let request = review(&mark);
        let request = if line.is_empty() {
            request
        } else {
            request.line(line)
        };
        let answer = request.send(world).await;
        assert!([400, 401].contains(&answer.code), "{number}: {answer:?}");
        assert_not_received_by_cluster(world, &mark);
    }
    // Two Authorization headers are malformed HTTP, so the server rejects the request before
    // routing.
    assert_refusals_audited(world, before, cases.len() - 2).await;
}

/// Attack group 7: tokens with guessed IDs or secrets.
pub(crate) async fn guessed_tokens_are_rejected(world: &mut World) {
    let before = unauthenticated_refusals(world);
    let token = wire::token(world);
    let (head, secret) = token.rsplit_once('_').unwrap();
    let id = head.trim_start_matches("drover_");
    let words = [
        "get",
        "tokens.management.drover.dev",
        id,
        "-o",
        "jsonpath={.spec.hash}",
    ];
    let hash = world.hub.kubectl(words).await.unwrap().stdout;
    assert!(hash.starts_with("sha256:"), "{hash}");
    let other_id = "a".repeat(id.len());
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let claims =
        URL_SAFE_NO_PAD.encode(r#"{"sub":"admin","iss":"https://kubernetes.default.svc"}"#);
    let changed = if secret.ends_with('a') { "b" } else { "a" };
    for (number, guess) in [
        format!("{head}_{}", "a".repeat(secret.len())),
        format!("{head}_{hash}"),
        format!("{head}_{}", hash.trim_start_matches("sha256:")),
        format!("{head}_{}", &secret[..secret.len() - 1]),
        format!("{head}_{}{changed}", &secret[..secret.len() - 1]),
        format!("{head}_{secret}x"),
        format!("{head}_"),
        head.to_owned(),
        format!("drover_{other_id}_{secret}"),
        format!("drover__{secret}"),
        format!("droverimport_{id}_{secret}"),
        format!("{none}.{claims}."),
        token.to_uppercase(),
    ]
    .iter()
    .enumerate()
    {
        let mark = format!("guess-{number}-");
        let answer = review(&mark).bearer(guess).send(world).await;
        assert_eq!(answer.code, 401, "{number}: {answer:?}");
        assert!(!answer.body.contains(secret), "{answer:?}");
        assert_not_received_by_cluster(world, &mark);
    }
    assert_refusals_audited(world, before, 10).await;
}

/// Attack groups 4 and 8: requests with a token for one cluster to different clusters and to `/v1`.
pub(crate) async fn token_of_one_cluster_is_rejected_by_other_clusters_and_the_rest_api(
    world: &mut World,
) {
    // The kubeconfig's token has the scope of the cluster `east`.
    let token = wire::token(world);
    let drover = world.admin.drover();
    drover.run(["cluster", "import", "north"]).await.unwrap();
    for (target, codes) in [
        (
            "/k8s/clusters/north/api/v1/namespaces?fieldManager=scope-0",
            [403, 401],
        ),
        (
            "/k8s/clusters/local/api/v1/namespaces?fieldManager=scope-1",
            [403, 401],
        ),
        (
            "/k8s/clusters/local/api/v1/secrets?fieldManager=scope-2",
            [403, 401],
        ),
        ("/v1/users", [403, 401]),
        ("/v1/settings", [403, 401]),
        ("/v1/tokens", [403, 401]),
    ] {
        let answer = Request::get(target).bearer(&token).send(world).await;
        assert!(codes.contains(&answer.code), "{target}: {answer:?}");
    }
    let create = Request::new("POST", "/v1/tokens").json(r#"{"purpose":"Api"}"#);
    let answer = create.bearer(&token).send(world).await;
    assert!([401, 403].contains(&answer.code), "{answer:?}");
    for number in 0..3 {
        let record = audited(world, &format!("scope-{number}")).await;
        assert_eq!(record["outcome"], "refused", "{record}");
    }
    drover
        .run([
            "cluster",
            "delete",
            "north",
            "--yes",
            "--wait",
            "--timeout=60s",
        ])
        .await
        .unwrap();
}

/// Attack group 12: a bearer token in a WebSocket subprotocol, which is how browsers send tokens.
pub(crate) async fn token_in_websocket_subprotocol_header_is_not_forwarded_to_the_cluster(
    world: &mut World,
) {
    let encoded = URL_SAFE_NO_PAD.encode(wire::token(world));
    let bearer = format!("base64url.bearer.authorization.k8s.io.{encoded}");
    let host = world.server.address();
    let shake = |mark: &str, protocols: &str| {
        let target = format!(
            "/k8s/clusters/east/api/v1/namespaces/default/configmaps?watch=true&fieldManager={mark}"
        );
        Request::get(&target)
            .line(&format!("Host: {host}"))
            .line(&format!("Origin: https://{host}"))
            .line("Connection: Upgrade")
            .line("Upgrade: websocket")
            .line("Sec-WebSocket-Version: 13")
            .line("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
            .line(&format!("Sec-WebSocket-Protocol: {protocols}"))
    };
    let patience = std::time::Duration::from_secs(3);
    let protocols = format!("{bearer}, base64.binary.k8s.io");
    let answer = shake("protocol-0", &protocols)
        .send_bare(world, patience)
        .await;
    assert_eq!(answer.code, 101, "{answer:?}");
    assert!(!answer.head.contains(&encoded), "{answer:?}");
    let record = audited(world, "protocol-0").await;
    assert_eq!(record["user"], "admin", "{record}");

    for (number, protocols) in [
        format!("{bearer}, {bearer}, base64.binary.k8s.io"),
        "base64url.bearer.authorization.k8s.io., base64.binary.k8s.io".to_owned(),
        "base64url.bearer.authorization.k8s.io.!!!, base64.binary.k8s.io".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let mark = format!("protocols-{number}");
        let answer = shake(&mark, protocols).send_bare(world, patience).await;
        assert!([400, 401].contains(&answer.code), "{number}: {answer:?}");
        assert!(!answer.head.contains(&encoded), "{answer:?}");
        assert_not_received_by_cluster(world, &mark);
    }
}
