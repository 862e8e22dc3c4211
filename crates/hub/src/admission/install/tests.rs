use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::Stores;
use crate::admission::WriteAuthorizer;
use drover_telemetry::{Health, Metrics};

fn forbidden(message: &str) -> HubError {
    api_error(403, message)
}

fn api_error(code: u16, message: &str) -> HubError {
    let status = kube::core::Status::failure(message, "Because").with_code(code);
    HubError::of_call("try", kube::Error::Api(status.boxed()))
}

#[test]
fn webhook_probe_succeeds_only_if_its_webhook_denies_the_request() {
    let address: Address = "https://drover.example".parse().unwrap();
    let reached =
        "admission webhook \"probe.rules.drover.dev\" denied the request: drover-rules-probe";
    assert!(check_denial(forbidden(reached), PROBE, &address).is_ok());
    // A denial by another webhook proves nothing about this webhook's address.
    let error = check_denial(forbidden(reached), CHECK, &address).unwrap_err();
    assert!(matches!(error, InstallError::Hub(_)), "{error}");
    let unreachable = "failed calling webhook \"probe.rules.drover.dev\": connection refused";
    let error = check_denial(forbidden(unreachable), PROBE, &address).unwrap_err();
    assert!(matches!(error, InstallError::Unreachable { .. }), "{error}");
    let other = check_denial(forbidden("configmaps is forbidden"), PROBE, &address).unwrap_err();
    assert!(matches!(other, InstallError::Hub(_)), "{other}");
}

/// Creates an installer with a fake hub that responds to every read with this status code. Also
/// returns the installer's metrics and health.
fn installer(code: u16) -> (Installer, Metrics, Health) {
    let asks = serde_json::json!([{
        "name": CHECK, "clientConfig": {}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }]);
    installer_with_webhooks(code, asks)
}

/// Creates an installer with a fake hub that returns a configuration with these webhooks. Also
/// returns the installer's metrics and health.
fn installer_with_webhooks(code: u16, webhooks: Value) -> (Installer, Metrics, Health) {
    let hub = tower::service_fn(move |_: Request<Body>| {
        let answer = if code == 200 {
            serde_json::json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration", "metadata": { "name": CONFIGURATION },
                "webhooks": webhooks,
            })
        } else {
            let reason = if code == 404 { "NotFound" } else { "Because" };
            serde_json::json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
                "reason": reason, "message": "no",
            })
        };
        let mut answer = Response::new(Body::from(serde_json::to_vec(&answer).unwrap()));
        *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
        std::future::ready(Ok::<_, tower::BoxError>(answer))
    });
    let client = Client::new(hub, "default");
    let (metrics, health) = (Metrics::new(), Health::new());
    let installer = Installer {
        reviews: Reviews::new(
            WriteAuthorizer {
                client: client.clone(),
                stores: Stores::new(),
            },
            "secret",
        ),
        client,
        address: None,
        settings: Settings::new(Stores::new(), ""),
        trust: None,
        status: WebhookStatus::new(WebhookState::InForce, &metrics, &health),
    };
    (installer, metrics, health)
}

#[tokio::test]
async fn only_permanent_webhook_install_errors_change_the_webhook_state() {
    let unreachable = || InstallError::Unreachable {
        address: String::new(),
        message: String::new(),
    };
    let hub = |code| InstallError::Hub(api_error(code, "no"));
    let nameless = |code| InstallError::Account(AccountError::Hub(api_error(code, "no")));
    for (error, read, leads, state) in [
        // The account lacks the permission, so the webhook was never installed.
        (hub(403), 404, true, "missing"),
        (nameless(403), 404, true, "missing"),
        // The webhook exists, but the hub rejects the test of it.
        (hub(403), 200, true, "unknown"),
        (hub(403), 403, true, "unknown"),
        (
            InstallError::Account(AccountError::NoUserName),
            200,
            true,
            "unknown",
        ),
        // Transient errors do not change the state.
        (hub(500), 404, true, "in_force"),
        (hub(429), 404, true, "in_force"),
        (hub(409), 404, true, "in_force"),
        (nameless(503), 404, true, "in_force"),
        // This server does not lead.
        (nameless(403), 404, false, "in_force"),
        (unreachable(), 200, true, "unanswered"),
        (unreachable(), 404, true, "missing"),
    ] {
        let (installer, metrics, _health) = installer(read);
        installer.record_failure(&error, leads).await;
        let line = format!("drover_hub_rules{{state=\"{state}\"}} 1\n");
        let text = metrics.encode().unwrap();
        assert!(
            text.contains(&line),
            "{error:?} {read} {leads}: {line}\n{text}"
        );
    }
}

#[tokio::test]
async fn webhook_configuration_without_webhooks_is_treated_as_missing() {
    let (installer, metrics, _health) = installer_with_webhooks(200, serde_json::json!([]));
    installer
        .record_failure(&InstallError::Hub(api_error(403, "no")), true)
        .await;
    let text = metrics.encode().unwrap();
    assert!(
        text.contains("drover_hub_rules{state=\"missing\"} 1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn leader_reports_unknown_webhook_state_and_standby_does_not() {
    for (leads, noted) in [(true, true), (false, false)] {
        let (installer, _metrics, health) = installer(404);
        installer.status.set(WebhookState::Unknown);
        for _ in 0..10 {
            installer
                .record_failure(&InstallError::Hub(api_error(503, "no")), leads)
                .await;
        }
        let report = health.examine().report("readyz");
        assert_eq!(
            report.contains("[!]rules: it is unknown whether"),
            noted,
            "{report}"
        );
    }
}
