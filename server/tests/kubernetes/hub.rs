//! Tests of the server's use of the hub: installation of CRDs, Secrets, the Lease, and failures of
//! the hub.

use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterSpec};
use drover_e2e::{Component, eventually};
use drover_hub::authority::{CA_SECRET, SERVING_SECRET};
use drover_hub::connect::connect;
use drover_hub::definitions::{InstallError, REVISION_ANNOTATION, SCHEMA_REVISION, install};
use drover_hub::lease::{LEASE_DURATION, Leadership, LeaseState};
use drover_server::wire;
use futures::TryStreamExt as _;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::place::{TestHub, on_both_hubs};
use crate::server::{Server, authority, client, options};

on_both_hubs!(
    custom_resource_definitions_are_installed_upgraded_and_never_downgraded,
    restarted_server_keeps_its_keys_tokens_and_passwords,
    restarted_server_lists_more_clusters_than_one_page,
    damaged_certificate_is_replaced_and_damaged_authority_is_reported,
);

const SOON: Duration = Duration::from_mins(1);

async fn restarted_server_lists_more_clusters_than_one_page(hub: TestHub) {
    const MANY: usize = 1_001;
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let clusters = server.hub.clusters();
    let make = async |number| {
        let cluster = Cluster::new(&format!("c{number:04}"), ClusterSpec::default());
        clusters
            .create(&PostParams::default(), &cluster)
            .await
            .map(drop)
    };
    let making = futures::stream::iter((0..MANY).map(Ok)).try_for_each_concurrent(8, make);
    making.await.unwrap();
    server.stop().await;

    let server = Server::start(&hub).await;
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/clusters?limit=500{after}");
        let page = server.get(&path, &admin).await.expect(200);
        let items = page["items"].as_array().unwrap().iter();
        names.extend(items.map(|cluster| cluster["name"].as_str().unwrap().to_owned()));
        match page["continue"].as_str() {
            Some(next) => after = format!("&continue={next}"),
            None => break,
        }
    }
    assert_eq!(names.len(), MANY);
    assert_eq!(names.last().unwrap(), "c1000");
    server.stop().await;
}

async fn custom_resource_definitions_are_installed_upgraded_and_never_downgraded(hub: TestHub) {
    let connection = connect(&hub.options()).await.unwrap();
    let open = hub.opened(connection.client());
    install(&connection.client()).await.unwrap();
    hub.kubectl(["get", "clusters.management.drover.dev,dusr,dtok,dset,dcrt"])
        .await
        .unwrap();

    // Remove a column and a rule, as in an old installation.
    let patch = json!({ "metadata": { "annotations": { REVISION_ANNOTATION: "0" } } }).to_string();
    let name = "clusters.management.drover.dev";
    hub.kubectl(["patch", "crd", name, "--type=merge", "-p", &patch])
        .await
        .unwrap();
    let columns = r#"[{"op":"remove","path":"/spec/versions/0/additionalPrinterColumns"}]"#;
    hub.kubectl(["patch", "crd", name, "--type=json", "-p", columns])
        .await
        .unwrap();
    install(&connection.client()).await.unwrap();
    let upgraded = hub
        .kubectl(["get", "crd", name, "-o", "json"])
        .await
        .unwrap();
    let upgraded: Value = serde_json::from_str(&upgraded.stdout).unwrap();
    assert_eq!(
        upgraded["metadata"]["annotations"][REVISION_ANNOTATION],
        SCHEMA_REVISION.to_string()
    );
    assert!(upgraded["spec"]["versions"][0]["additionalPrinterColumns"].is_array());

    let newer = (SCHEMA_REVISION + 1).to_string();
    let patch =
        json!({ "metadata": { "annotations": { REVISION_ANNOTATION: newer } } }).to_string();
    hub.kubectl(["patch", "crd", name, "--type=merge", "-p", &patch])
        .await
        .unwrap();
    let refused = install(&connection.client()).await.unwrap_err();
    assert!(matches!(refused, InstallError::Newer { .. }), "{refused}");
    drop(open);
    connection.close().await;
    let refused = wire::start(options(&hub, None), CancellationToken::new())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("newer"), "{refused}");
}

#[tokio::test]
async fn concurrently_started_servers_share_secrets_and_elect_one_leader() {
    let hub = TestHub::kubernetes().await;
    let stop = [CancellationToken::new(), CancellationToken::new()];
    let (remaining, right) = tokio::join!(
        wire::start(options(&hub, None), stop[0].clone()),
        wire::start(options(&hub, None), stop[1].clone()),
    );
    let servers = [remaining.unwrap(), right.unwrap()];
    let keys = servers
        .each_ref()
        .map(|server| server.hub().keys().plan_public_keys());
    assert_eq!(
        keys[0], keys[1],
        "both servers must use one plan-signing key"
    );
    let challenge = |server: &wire::Server| {
        aws_lc_rs::hmac::sign(server.hub().keys().challenge(), b"x")
            .as_ref()
            .to_vec()
    };
    assert_eq!(
        challenge(&servers[0]),
        challenge(&servers[1]),
        "both servers must use one challenge key"
    );

    let leaderships = servers.each_ref().map(|server| server.leadership().clone());
    let hubs = servers.each_ref().map(|server| server.hub().clone());
    let addresses = servers.each_ref().map(wire::Server::address);
    let running = servers.map(|server| tokio::spawn(server.wait()));
    let leader = eventually("a leader", SOON, async || {
        let states = leaderships.each_ref().map(Leadership::state);
        states
            .iter()
            .position(LeaseState::may_serve)
            .ok_or_else(|| format!("{states:?}"))
    });
    let leader = leader.await.unwrap();
    let follower = 1 - leader;
    let mut follows = leaderships[follower].clone();
    let knows_whom = follows
        .wait_for(|state| matches!(state, LeaseState::Waiting { holder } if !holder.is_empty()));
    let known = tokio::time::timeout(SOON, knows_whom).await;
    drop(known.unwrap().unwrap());
    let http = client(&authority(&hubs[0]).await);
    let version = |which: usize| {
        http.get(format!("https://{}/v1/version", addresses[which]))
            .send()
    };
    assert_eq!(version(leader).await.unwrap().status(), 200);
    let waiting = version(follower).await.unwrap();
    assert_eq!(waiting.status(), 503);
    let waiting: Value = serde_json::from_str(&waiting.text().await.unwrap()).unwrap();
    assert!(
        waiting["message"].as_str().unwrap().contains("waits"),
        "{waiting}"
    );

    // Only one of the two servers creates the administrator.
    let admins = eventually("the administrator", SOON, async || {
        let users = hub
            .kubectl(["get", "dusr", "-o", "name"])
            .await
            .unwrap()
            .stdout;
        let only = users.trim() == "user.management.drover.dev/admin";
        if only { Ok(()) } else { Err(users) }
    });
    admins.await.unwrap();

    // The leader releases the Lease when it stops, so the other server does not wait for its
    // expiry. It checks the Lease every five seconds.
    stop[leader].cancel();
    let mut next = leaderships[follower].clone();
    let taking = next.wait_for(LeaseState::may_serve);
    let before_it_dies = LEASE_DURATION * 4 / 5;
    let state = tokio::time::timeout(before_it_dies, taking).await;
    let state = state.unwrap().unwrap();
    assert!(
        matches!(state, LeaseState::Leading { term } if term >= 2),
        "{state:?}"
    );
    assert_eq!(version(follower).await.unwrap().status(), 200);
    stop[follower].cancel();
    for server in running {
        server.await.unwrap().unwrap();
    }
}

async fn restarted_server_keeps_its_keys_tokens_and_passwords(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let (trust, keys) = (server.trust.clone(), server.hub.keys().plan_public_keys());
    server.stop().await;

    let server = Server::start(&hub).await;
    assert_eq!(
        server.trust, trust,
        "the authority that agents pinned must not change"
    );
    assert_eq!(server.hub.keys().plan_public_keys(), keys);
    server.get("/v1/me", &admin).await.expect(200);

    // The next start completes a setup that crashed between creating the administrator and storing
    // the password.
    let uid = server
        .hub
        .users()
        .get("admin")
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    let secret = format!("password-{uid}");
    server.stop().await;
    hub.kubectl(["delete", "secret", "-n", "drover-system", &secret])
        .await
        .unwrap();
    let server = Server::start(&hub).await;
    let first = server.first_password().await;
    server.login("admin", &first).await;
    server.stop().await;
}

async fn damaged_certificate_is_replaced_and_damaged_authority_is_reported(hub: TestHub) {
    Server::start(&hub).await.stop().await;
    let damage = r#"{"data":{"tls.crt":"bm9uc2Vuc2U="}}"#;
    let patch = async |name: &str| {
        let args = [
            "patch",
            "secret",
            "-n",
            "drover-system",
            name,
            "--type=merge",
            "-p",
            damage,
        ];
        hub.kubectl(args).await.unwrap();
    };
    patch(SERVING_SECRET).await;
    let server = Server::start(&hub).await;
    server
        .try_login("admin", "not the password")
        .await
        .expect(401);
    server.stop().await;
    patch(CA_SECRET).await;
    let refused = wire::start(options(&hub, None), CancellationToken::new())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains(CA_SECRET), "{refused}");
}

#[tokio::test]
async fn users_stay_signed_in_while_the_hub_is_down_and_writes_return_an_error() {
    let mut hub = TestHub::kubernetes().await;
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    hub.control_plane().kill(Component::ApiServer).unwrap();
    server.get("/v1/me", &admin).await.expect(200);
    server.get("/v1/clusters", &admin).await.expect(200);
    let refused = server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await;
    let refused = refused.expect(503);
    assert!(
        refused["details"]["retryAfterSeconds"].is_number(),
        "{refused}"
    );
    hub.control_plane()
        .restart(Component::ApiServer)
        .await
        .unwrap();
    let created = eventually("a cluster", SOON, async || {
        let answer = server
            .post("/v1/clusters", &admin, json!({ "name": "shop" }))
            .await;
        if answer.code == 201 {
            Ok(())
        } else {
            Err(answer.body)
        }
    });
    created.await.unwrap();
    // The server watches the hub again and sees writes of other clients.
    hub.kubectl([
        "patch",
        "dusr",
        "admin",
        "--type=merge",
        "-p",
        r#"{"spec":{"enabled":false}}"#,
    ])
    .await
    .unwrap();
    let out = eventually("the administrator's session to end", SOON, async || {
        let answer = server.get("/v1/me", &admin).await;
        if answer.code == 401 {
            Ok(())
        } else {
            Err(answer.body)
        }
    });
    out.await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn data_folder_is_locked_by_a_running_server_and_usable_after_server_exit() {
    let hub = TestHub::embedded();
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let refused = wire::start(options(&hub, None), CancellationToken::new()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("--data-dir"), "{refused}");
    // The running server is not affected. The next server reads its data.
    server.get("/v1/me", &admin).await.expect(200);
    server.stop().await;
    let server = Server::start(&hub).await;
    server.get("/v1/me", &admin).await.expect(200);
    server.stop().await;
}

#[tokio::test]
async fn embedded_hub_is_reachable_as_cluster_local_and_reports_metrics() {
    let hub = TestHub::embedded();
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    let path = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1/users";
    let listed = eventually("the permission to read", SOON, async || {
        let answer = server.get(path, &admin).await;
        if answer.code == 200 {
            Ok(answer.body)
        } else {
            Err(answer.body)
        }
    });
    assert_eq!(listed.await.unwrap()["items"].as_array().unwrap().len(), 2);
    server.get(path, &ann).await.expect(403);
    let path = "/k8s/clusters/local/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body = server.post(path, &admin, json!({})).await.expect(201);
    let user = body["status"]["userInfo"]["username"].as_str().unwrap();
    assert!(user.starts_with("drover:user:"), "{user}");
    let (code, text) = server
        .call_text(reqwest::Method::GET, "/metrics", Some(&admin))
        .await;
    assert_eq!(code, 200);
    assert!(text.contains("drover_audit_records_total"), "{text}");
    assert!(text.contains("apiserver_request_total"), "{text}");
    assert_eq!(
        text.matches("# EOF").count(),
        1,
        "the metrics must form one exposition"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    server.stop().await;
}
