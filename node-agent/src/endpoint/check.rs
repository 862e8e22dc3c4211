//! The check whether the API server on the node calls the webhook: the node agent sends a request
//! with a random token to the API server, and waits for the token at the webhook.

use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::WebhookState;
use http::Request;
use kube::config::AuthInfo;
use parking_lot::Mutex;
use secrecy::SecretString;
use tracing::debug;

use super::WebhookStates;

/// Interval of the check while the API server does not call the webhook.
const INTERVAL: Duration = Duration::from_secs(15);
/// Interval of the check after the API server has called the webhook. Each check leaves a line in the
/// API server's audit log.
const CALLED_INTERVAL: Duration = Duration::from_mins(5);
/// Timeout of the request to the API server, which can wait for the webhook.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The random token of a check.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<Expected>>);

#[derive(Debug)]
struct Expected {
    token: String,
    seen: bool,
}

impl Probe {
    /// Starts a check. Returns its token.
    fn begin(&self) -> String {
        let token = format!("drovercheck-{}", uuid::Uuid::new_v4());
        *self.0.lock() = Some(Expected {
            token: token.clone(),
            seen: false,
        });
        token
    }

    /// Records a token that the webhook received.
    pub(super) fn observe(&self, token: &str) {
        if let Some(expected) = &mut *self.0.lock()
            && expected.token == token
        {
            expected.seen = true;
        }
    }

    /// Ends the check. Reports whether the webhook received the token.
    fn end(&self) -> bool {
        self.0.lock().take().is_some_and(|expected| expected.seen)
    }
}

/// Repeats the check while the webhook listens.
pub(super) async fn run(
    api_server: Option<kube::Config>,
    probe: Arc<Probe>,
    states: WebhookStates,
) {
    let Some(config) = api_server else {
        return;
    };
    let mut changes = states.subscribe();
    let listens = |state: &WebhookState| {
        !matches!(
            state,
            WebhookState::Disabled | WebhookState::PortUnavailable
        )
    };
    while changes.wait_for(listens).await.is_ok() {
        if ask(&config, &probe).await {
            let called = probe.end();
            states.send_if_modified(|state| {
                let now = if called {
                    WebhookState::Called
                } else {
                    WebhookState::NotCalled
                };
                listens(state) && std::mem::replace(state, now) != now
            });
        }
        if *states.borrow() == WebhookState::Called {
            let restarted = changes.wait_for(|state| *state != WebhookState::Called);
            // After the timeout, the check runs again.
            let _ = tokio::time::timeout(CALLED_INTERVAL, restarted).await;
        } else {
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

/// Sends the token of a check to the API server. Returns true if the API server refused the token, so
/// that it has asked all its authenticators.
async fn ask(config: &kube::Config, probe: &Probe) -> bool {
    let mut config = config.clone();
    config.auth_info = AuthInfo {
        token: Some(SecretString::from(probe.begin())),
        ..AuthInfo::default()
    };
    let Ok(client) = kube::Client::try_from(config) else {
        return false;
    };
    let request = Request::get("/version").body(Vec::new());
    let request = request.expect("the request has a fixed path");
    match tokio::time::timeout(TIMEOUT, client.request_text(request)).await {
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => true,
        other => {
            debug!(
                ?other,
                "cannot check whether the API server calls the webhook"
            );
            false
        }
    }
}
