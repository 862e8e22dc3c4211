use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::Stores;
use crate::admission::WriteAuthorizer;
use drover_telemetry::{Health, Metrics};

fn refused(message: &str) -> HubError {
    said(403, message)
}

fn said(code: u16, message: &str) -> HubError {
    let status = kube::core::Status::failure(message, "Because").with_code(code);
    HubError::of_call("try", kube::Error::Api(status.boxed()))
}

#[test]
fn only_the_servers_own_word_proves_that_it_is_reached() {
    let address: Address = "https://drover.example".parse().unwrap();
    let reached =
        "admission webhook \"probe.rules.drover.dev\" denied the request: drover-rules-probe";
    assert!(verdict(refused(reached), PROBE, &address).is_ok());
    // Another of the webhooks, perhaps at another address, proves nothing about this one.
    let error = verdict(refused(reached), CHECK, &address).unwrap_err();
    assert!(matches!(error, NotInForce::Hub(_)), "{error}");
    let unreachable = "failed calling webhook \"probe.rules.drover.dev\": connection refused";
    let error = verdict(refused(unreachable), PROBE, &address).unwrap_err();
    assert!(matches!(error, NotInForce::Unreachable { .. }), "{error}");
    let other = verdict(refused("configmaps is forbidden"), PROBE, &address).unwrap_err();
    assert!(matches!(other, NotInForce::Hub(_)), "{other}");
}

/// An installer whose hub answers whatever is read with this code; and what it shows.
fn installer(code: u16) -> (Installer, Metrics, Health) {
    let asks = serde_json::json!([{
        "name": CHECK, "clientConfig": {}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }]);
    installer_that_finds(code, asks)
}

/// The same, with what an object that is read asks.
fn installer_that_finds(code: u16, webhooks: Value) -> (Installer, Metrics, Health) {
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
async fn what_the_hub_refuses_is_shown_and_what_passes_changes_nothing() {
    let unreachable = || NotInForce::Unreachable {
        address: String::new(),
        said: String::new(),
    };
    let hub = |code| NotInForce::Hub(said(code, "no"));
    let nameless = |code| NotInForce::Nameless(AccountError::Hub(said(code, "no")));
    for (error, read, leads, state) in [
        // Never installed, because the account may not.
        (hub(403), 404, true, "missing"),
        (nameless(403), 404, true, "missing"),
        // Installed once; whether it still holds, nobody can say.
        (hub(403), 200, true, "unknown"),
        (hub(403), 403, true, "unknown"),
        (
            NotInForce::Nameless(AccountError::Unsaid),
            200,
            true,
            "unknown",
        ),
        // In a moment the hub may say otherwise.
        (hub(500), 404, true, "in_force"),
        (hub(429), 404, true, "in_force"),
        (hub(409), 404, true, "in_force"),
        (nameless(503), 404, true, "in_force"),
        // Another server sees to it.
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
async fn rules_that_a_chart_made_room_for_are_missing_until_they_ask_something() {
    let (installer, metrics, _health) = installer_that_finds(200, serde_json::json!([]));
    installer
        .record_failure(&NotInForce::Hub(said(403, "no")), true)
        .await;
    let text = metrics.encode().unwrap();
    assert!(
        text.contains("drover_hub_rules{state=\"missing\"} 1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_leader_who_never_finds_out_says_so_and_one_who_waits_does_not() {
    for (leads, noted) in [(true, true), (false, false)] {
        let (installer, _metrics, health) = installer(404);
        installer.status.set(WebhookState::Unknown);
        for _ in 0..10 {
            installer
                .record_failure(&NotInForce::Hub(said(503, "no")), leads)
                .await;
        }
        let report = health.examine().report("readyz");
        assert_eq!(report.contains("[!]rules: nobody knows"), noted, "{report}");
    }
}
