//! Tests the content of the audit log, and that the log contains no secrets (attack group 25).

use http_body_util::Full;

use super::client::{by, empty, get, send};
use super::cluster::Cluster;
use super::rig::Rig;

#[tokio::test]
async fn audit_record_contains_user_request_cluster_and_result() {
    let rig = Rig::new().await;
    let _attached = Cluster::echo().attach(&rig, "a", "r1").await;
    let request = by(
        &rig.ann,
        "POST",
        "/k8s/clusters/a/api/v1/namespaces/n/pods?fieldManager=k",
    )
    .body(Full::from("hello"))
    .unwrap();
    let got = send(&rig, request).await;
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        record["id"],
        got.head.headers["drover-request-id"].to_str().unwrap()
    );
    for (field, expected) in [
        ("user", "ann"),
        ("userUid", "uid-ann"),
        ("token", rig.ann.token.metadata.name.as_deref().unwrap()),
        ("cluster", "a"),
        ("clusterUid", "uid-a"),
        ("verb", "create"),
        ("method", "POST"),
        ("path", "/api/v1/namespaces/n/pods?fieldManager=k"),
        ("outcome", "complete"),
    ] {
        assert_eq!(record[field], expected, "{field}");
    }
    assert_eq!(
        (&record["code"], &record["bytesIn"]),
        (&200.into(), &5.into())
    );
    assert_eq!(record["bytesOut"], got.body.len());
    assert!(record["durationMs"].as_f64().is_some_and(|ms| ms > 0.0));
    assert!(
        record["time"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
}

// Attack group 25: secrets in logs.
#[tokio::test]
async fn audit_records_and_metrics_contain_no_secrets() {
    let rig = Rig::new().await;
    let _attached = Cluster::echo().attach(&rig, "a", "r1").await;
    let secret = "hunter2";
    let request = by(
        &rig.ann,
        "POST",
        "/k8s/clusters/a/api/v1/namespaces/n/pods/p/exec?command=mysql&command=-phunter2&token=hunter2&hunter2",
    )
    .header("cookie", "session=hunter2")
    .header("referer", "https://d/?token=hunter2")
    .header("x-api-key", secret)
    .body(Full::from(secret))
    .unwrap();
    send(&rig, request).await;
    let request = by(&rig.bob, "GET", "/k8s/clusters/a/x?access_token=hunter2")
        .body(empty())
        .unwrap();
    send(&rig, request).await;
    let everything = rig.audit_text().await + &rig.metrics.encode().unwrap();
    let (_, anns_secret) = rig.ann.bearer.rsplit_once('_').unwrap();
    for secret in [
        secret,
        anns_secret,
        &rig.ann.bearer,
        &rig.bob.bearer,
        &rig.ann.token.spec.hash,
    ] {
        assert!(!everything.contains(secret), "{secret} in {everything}");
    }
    assert!(
        everything.contains("command=mysql&command=(hidden)"),
        "{everything}"
    );
}

#[tokio::test]
async fn rejected_requests_are_recorded_with_their_reason() {
    let rig = Rig::new().await;
    for (person, path, reason) in [
        (&rig.bob, "/k8s/clusters/a/api", "NoBinding"),
        (&rig.ann, "/k8s/clusters/nowhere/api", "NoSuchCluster"),
        (&rig.ann, "/k8s/clusters/a/%2e%2e/api", "BadPath"),
        (&rig.ann, "/k8s/clusters/a/api", "AgentNotConnected"),
    ] {
        get(&rig, person, path).await;
        let record = rig.audited(|r| r["reason"] == reason).await;
        assert_eq!(record["outcome"], "refused", "{path}");
        assert!(
            record["code"].as_u64().is_some_and(|code| code >= 400),
            "{path}"
        );
    }
    let counted = rig.metrics.encode().unwrap();
    assert!(
        counted.contains(r#"drover_refusals_total{reason="NoBinding"} 1"#),
        "{counted}"
    );
    assert!(
        counted.contains(r#"drover_requests_total{verb="get",code="403"} 1"#),
        "{counted}"
    );
}

#[tokio::test]
async fn audit_log_file_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new().await;
    rig.audit_text().await;
    let mode = std::fs::metadata(rig.audit_path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
