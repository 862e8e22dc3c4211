//! Tests of health checks, metrics and the log filter.

use drover_hub::connect::HubMetrics;
use drover_rest::telemetry::{Telemetry, router};
use drover_telemetry::{Health, LogFilter};
use http_body_util::Full;
use tokio_util::sync::CancellationToken;

use super::client::{by, empty, open, read};
use super::rig::{AuditCaller, Rig, listen, token};

struct TelemetryRig {
    rig: Rig,
    health: Health,
    address: std::net::SocketAddr,
    _stop: tokio_util::sync::DropGuard,
}

async fn telemetry_rig() -> TelemetryRig {
    let rig = Rig::new().await;
    let health = Health::new();
    let stop = CancellationToken::new();
    let telemetry = Telemetry {
        metrics: rig.metrics.clone(),
        hub_metrics: HubMetrics::default(),
        health: health.clone(),
        log_filter: LogFilter::detached(),
        authenticator: rig.authenticator.clone(),
    };
    let address = listen(router(telemetry), stop.clone()).await;
    TelemetryRig {
        rig,
        health,
        address,
        _stop: stop.drop_guard(),
    }
}

async fn ask(
    telemetry_rig: &TelemetryRig,
    person: &AuditCaller,
    method: &str,
    path: &str,
    body: &str,
) -> (u16, String) {
    let request = by(person, method, path)
        .header("content-type", "application/json")
        .body(Full::from(body.to_owned()))
        .unwrap();
    let got = read(open(telemetry_rig.address, request).await).await;
    (got.code(), String::from_utf8(got.body.to_vec()).unwrap())
}

#[tokio::test]
async fn readiness_endpoint_names_the_failed_check() {
    let telemetry_rig = telemetry_rig().await;
    let anyone = async |path: &str| {
        let request = http::Request::get(path)
            .header("host", "d")
            .body(empty())
            .unwrap();
        let got = read(open(telemetry_rig.address, request).await).await;
        (got.code(), String::from_utf8(got.body.to_vec()).unwrap())
    };
    assert_eq!(anyone("/livez").await, (200, "ok".to_owned()));
    telemetry_rig.health.check("audit", || Ok(()));
    assert_eq!(anyone("/readyz").await, (200, "ok".to_owned()));
    let (code, text) = anyone("/readyz?verbose").await;
    assert_eq!(
        (code, text.as_str()),
        (200, "[+]audit ok\nreadyz check passed\n")
    );
    telemetry_rig
        .health
        .check("hub", || Err("out of reach".to_owned()));
    let (code, text) = anyone("/readyz").await;
    assert_eq!(code, 503);
    assert!(text.contains("[-]hub failed: out of reach"), "{text}");
    assert_eq!(anyone("/livez").await.0, 200);
}

#[tokio::test]
async fn metrics_and_log_filter_require_an_administrator() {
    let telemetry_rig = telemetry_rig().await;
    let nobody = AuditCaller {
        bearer: "drover_x_y".to_owned(),
        token: telemetry_rig.rig.bob.token.clone(),
    };
    let scoped = token(9, "ann", Some("a"));
    telemetry_rig.rig.stores.tokens.apply(scoped.token.clone());
    for (method, path) in [
        ("GET", "/metrics"),
        ("GET", "/v1/log-filter"),
        ("PUT", "/v1/log-filter"),
    ] {
        let body = r#"{"filter":"debug"}"#;
        assert_eq!(
            ask(&telemetry_rig, &nobody, method, path, body).await.0,
            401,
            "{path}"
        );
        assert_eq!(
            ask(&telemetry_rig, &telemetry_rig.rig.bob, method, path, body)
                .await
                .0,
            403,
            "{path}"
        );
        assert_eq!(
            ask(&telemetry_rig, &scoped, method, path, body).await.0,
            403,
            "{path}"
        );
        assert_eq!(
            ask(&telemetry_rig, &telemetry_rig.rig.ann, method, path, body)
                .await
                .0,
            200,
            "{path}"
        );
    }
    let (_, text) = ask(
        &telemetry_rig,
        &telemetry_rig.rig.ann,
        "GET",
        "/metrics",
        "",
    )
    .await;
    assert!(text.contains("# TYPE drover_tunnels gauge"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[tokio::test]
async fn log_filter_changes_at_run_time_and_an_invalid_filter_returns_advice() {
    let telemetry_rig = telemetry_rig().await;
    let ann = &telemetry_rig.rig.ann;
    let (_, text) = ask(&telemetry_rig, ann, "GET", "/v1/log-filter", "").await;
    assert_eq!(text, r#"{"filter":"info"}"#);
    let expected = r#"{"filter":"warn,drover_server=debug"}"#;
    assert_eq!(
        ask(&telemetry_rig, ann, "PUT", "/v1/log-filter", expected).await,
        (200, expected.to_owned())
    );
    let (code, text) = ask(
        &telemetry_rig,
        ann,
        "PUT",
        "/v1/log-filter",
        r#"{"filter":"a=b=c"}"#,
    )
    .await;
    assert_eq!(code, 422, "{text}");
    assert!(text.contains("info,drover=debug"), "{text}");
    let (code, _) = ask(
        &telemetry_rig,
        ann,
        "PUT",
        "/v1/log-filter",
        r#"{"level":"debug"}"#,
    )
    .await;
    assert_eq!(
        code, 422,
        "a request with an unknown field must be rejected"
    );
    assert_eq!(
        ask(&telemetry_rig, ann, "GET", "/v1/log-filter", "")
            .await
            .1,
        expected
    );
}
