//! Tests of the webhook of an external hub: without a configuration, with an unreachable address,
//! and with the address of a different server.

use std::path::PathBuf;

use drover_e2e::{ControlPlane, eventually};
use drover_hub::connect::HubOptions;
use drover_server::wire::{self, ServerOptions};
use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, ResourceExt as _};
use tokio_util::sync::CancellationToken;

use super::{SOON, wait_for_rules};
use crate::place::TestHub;
use crate::recover::recover;
use crate::server::{Server, authority, client, options};

/// A running server. `/readyz` reports the status of the admission rules.
struct Running {
    url: String,
    trust: String,
    hub: drover_hub::Hub,
    stop: CancellationToken,
    ended: tokio::task::JoinHandle<Result<(), wire::EndError>>,
}

impl Running {
    async fn start(options: ServerOptions) -> Self {
        let stop = CancellationToken::new();
        let server = wire::start(options, stop.clone()).await.unwrap();
        let hub = server.hub().clone();
        let url = format!("https://{}", server.address());
        let ended = tokio::spawn(server.wait());
        let trust = authority(&hub).await;
        Self {
            url,
            trust,
            hub,
            stop,
            ended,
        }
    }

    /// Waits until the `/readyz` line about the admission rules contains `part`. The line does not
    /// change the status code of `/readyz`.
    async fn says(&self, part: &str) {
        let http = client(&self.trust);
        let rules_status = eventually("/readyz to show the state of the rules", SOON, async || {
            let requested = http.get(format!("{}/readyz?verbose", self.url));
            let answer = requested.send().await.map_err(|error| error.to_string())?;
            let ready = answer.status().is_success();
            let text = answer.text().await.map_err(|error| error.to_string())?;
            let shown = ready && text.lines().any(|line| line.contains(part));
            if shown { Ok(()) } else { Err(text) }
        });
        rules_status.await.unwrap();
    }

    async fn stop(self) {
        self.stop.cancel();
        self.ended.await.unwrap().unwrap();
    }
}

/// Returns options with an address where no server listens.
fn unreachable_options(hub: &TestHub) -> ServerOptions {
    let mut options = options(hub, None);
    options.hub_webhook = Some("https://127.0.0.1:1".parse().unwrap());
    options
}

#[tokio::test]
async fn webhook_unreachable_from_the_hub_is_reported_and_does_not_block_writes() {
    let hub = TestHub::kubernetes().await;
    let server = Running::start(unreachable_options(&hub)).await;
    let client = server.hub.client();
    // The test webhook exists for a short time only and is removed afterwards.
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client);
    let seen = webhooks.watch(&WatchParams::default(), "0").await.unwrap();
    let names = seen.filter_map(async |event| match event.unwrap() {
        WatchEvent::Added(added) => Some(("added", added.name_any())),
        WatchEvent::Deleted(gone) => Some(("gone", gone.name_any())),
        _ => None,
    });
    let first: Vec<_> = tokio::time::timeout(SOON, Box::pin(names).take(2).collect())
        .await
        .unwrap();
    let trial = |resources| (resources, "drover-rules-probe".to_owned());
    assert_eq!(first, [trial("added"), trial("gone")]);
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"password-1"}}"#;
    let (line, _counter) = hub.command_line().await;
    let line = line.with_stdin(secret);
    line.run([
        "create",
        "-n",
        "drover-system",
        "--dry-run=server",
        "-f",
        "-",
    ])
    .await
    .unwrap();
    server
        .says("[!]rules: the hub does not check direct writes")
        .await;
    server.stop().await;
}

#[tokio::test]
async fn webhook_with_an_outdated_address_is_reported_with_advice() {
    let hub = TestHub::kubernetes().await;
    let first = Server::start(&hub).await;
    wait_for_rules(&first).await;
    first.stop().await;
    let server = Running::start(unreachable_options(&hub)).await;
    server
        .says("kubectl delete validatingwebhookconfiguration drover-rules")
        .await;
    // The reported state is correct: the hub rejects writes of other users.
    let write = [
        "label",
        "--overwrite",
        "users.management.drover.dev",
        "admin",
        "a=b",
    ];
    let (line, _counter) = hub.command_line().await;
    let as_jane = |rest: &[&str]| {
        let mut all = vec!["--as=jane", "--as-group=system:masters"];
        all.extend(rest);
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let refused = line.run(as_jane(&write)).await.unwrap_err();
    assert!(
        format!("{refused:?}").contains("failed calling webhook"),
        "{refused:?}"
    );
    let out = ["delete", "validatingwebhookconfiguration", "drover-rules"];
    line.run(as_jane(&out)).await.unwrap();
    let accepted = eventually("the hub to stop calling the webhook", SOON, async || {
        line.run(as_jane(&write))
            .await
            .map(|_| ())
            .map_err(|error| format!("{error:?}"))
    });
    accepted.await.unwrap();
    server.stop().await;
}

/// Returns a kubeconfig of a second user with all permissions.
fn other_user_kubeconfig(hub: &ControlPlane, name: &str) -> PathBuf {
    let identity = hub.identity(name, Some("system:masters")).unwrap();
    let file = hub.folder().join(format!("{name}.yaml"));
    std::fs::write(&file, identity.kubeconfig).unwrap();
    file
}

#[tokio::test]
async fn server_started_under_a_new_account_replaces_the_account_in_the_webhook_rules() {
    let mut hub = TestHub::kubernetes().await;
    let first = Server::start(&hub).await;
    wait_for_rules(&first).await;
    first.stop().await;
    let other = other_user_kubeconfig(hub.control_plane(), "another-account");
    // `drover server recover` under another account names the required account before it changes
    // the hub.
    let recovered = recover(&["--kubeconfig", other.to_str().unwrap()]).await;
    let advice = "kubectl delete validatingwebhookconfiguration drover-rules";
    assert!(
        !recovered.success && recovered.stderr.contains(advice),
        "{recovered:?}"
    );
    assert!(
        recovered.stderr.contains("another-account"),
        "{recovered:?}"
    );

    let mut options = options(&hub, None);
    options.hub = HubOptions::Kubeconfig {
        file: other,
        context: None,
    };
    let server = Running::start(options).await;
    server.says("[+]rules ok").await;
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(server.hub.client());
    let names_one = eventually("the rules to name only the new server", SOON, async || {
        let rules = webhooks
            .get("drover-rules")
            .await
            .map_err(|error| error.to_string())?;
        let text = serde_json::to_string(&rules.webhooks).map_err(|error| error.to_string())?;
        let server = rules
            .annotations()
            .get("management.drover.dev/server")
            .cloned();
        let one = text.matches("request.userInfo.username != ").count();
        let new = text
            .matches("request.userInfo.username != 'another-account'")
            .count();
        let done = one > 0 && one == new && server.as_deref() == Some("another-account");
        if done { Ok(()) } else { Err(text) }
    });
    names_one.await.unwrap();
    server.stop().await;
}
