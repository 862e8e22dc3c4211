//! Installs the admission webhook on an external hub, and reconciles its configuration.
//!
//! A fail-closed webhook without a reachable server blocks all matching writes. The installer
//! therefore first tests the connection. For this test, the installer applies a webhook that
//! matches only one unused object name, and creates an object with this name in a dry run. After
//! the installation, the installer repeats the test with the installed configuration, to detect a
//! hub that cannot connect to the server.

use std::sync::Arc;
use std::time::Duration;

use drover_api::group::{HUB_NAMESPACE, SERVER_FIELD_MANAGER};
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::account::{AccountError, client_account, configuration};
use super::address::Address;
use super::review::Reviews;
use super::webhook::{CHECK, PROBE, WebhookConfig};
use super::webhook_status::{WebhookState, WebhookStatus};
use crate::settings::Settings;
use crate::webhook_name::CONFIGURATION;
use crate::{HubError, call};

/// The interval at which the installer applies the webhook configuration, to revert changes of
/// other clients.
const REAPPLY_INTERVAL: Duration = Duration::from_mins(5);
/// The timeout of one installation attempt. An attempt contains several probes, and each probe
/// waits for the hub's webhook timeout.
const STEP_TIMEOUT: Duration = Duration::from_mins(10);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// The maximum number of probes until the hub calls a newly installed webhook.
const MAX_PROBES: u32 = 40;
const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// The error of an installation.
#[derive(Debug, Error)]
enum InstallError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(
        "the hub cannot reach the server URL {url:?}: set an https URL or --hub-webhook",
        url = .0
    )]
    NoAddress(String),
    #[error("the hub cannot reach the server at {address}: {message}")]
    Unreachable { address: String, message: String },
    #[error("the hub has not called the webhook at {url}", url = .0)]
    NeverCalled(String),
    #[error(
        "the hub does not support matchConditions: upgrade the hub to Kubernetes 1.30 or later"
    )]
    TooOld,
}

impl InstallError {
    /// Reports whether the hub itself rejected a call. Returns false if the hub did not connect to
    /// the server.
    fn is_hub_error(&self) -> bool {
        matches!(self, Self::Hub(_) | Self::Account(_))
    }

    /// Reports whether the error is transient. A transient error does not change the reported
    /// status.
    fn is_transient(&self) -> bool {
        let (Self::Hub(error) | Self::Account(AccountError::Hub(error))) = self else {
            return false;
        };
        // Timeouts, server errors, conflicts and rate limits are transient.
        let refused = |code| (400..500).contains(&code) && !matches!(code, 408 | 409 | 429);
        !error.code().is_some_and(refused)
    }

    /// Removes the secret segment of the webhook's path from the hub's error message.
    fn redacted(self, segment: &str) -> Self {
        match self {
            Self::Unreachable { address, message } => Self::Unreachable {
                address,
                message: message.replace(segment, "…"),
            },
            other => other,
        }
    }

    fn log(&self, state: Option<WebhookState>) {
        let error = self as &dyn std::error::Error;
        match state {
            None | Some(WebhookState::Unknown) => {
                tracing::warn!(error, "failed to reconcile the admission webhook; retrying");
            }
            Some(WebhookState::Unanswered) => tracing::warn!(
                error,
                "the hub cannot reach the admission webhook and rejects writes by other accounts \
                 to Drover's objects, roles and service account tokens; set --hub-webhook to an \
                 address that the hub's API server can reach, or delete the webhook: kubectl \
                 delete validatingwebhookconfiguration {CONFIGURATION}"
            ),
            Some(_) if self.is_hub_error() => tracing::warn!(
                error,
                "cannot install the admission webhook, so direct writes to the hub are not \
                 checked: the hub rejected the request; grant the permission in the error to the \
                 server's account"
            ),
            Some(_) => tracing::warn!(
                error,
                "cannot install the admission webhook, so direct writes to the hub are not \
                 checked; set --hub-webhook to an address that the hub's API server can reach"
            ),
        }
    }
}

/// The installer of the admission webhook.
pub struct Installer {
    /// The client of the external hub.
    pub client: Client,
    /// The handler that the webhook calls.
    pub reviews: Reviews,
    /// The address of `--hub-webhook`.
    pub address: Option<Address>,
    /// The settings. The setting `server-url` is the default address of the webhook.
    pub settings: Settings,
    /// The CA certificate for the webhook configuration, PEM.
    pub trust: Option<String>,
    /// The status for metrics and `/readyz`.
    pub status: WebhookStatus,
}

/// The controller that sets the server's account in the webhook handler. Every replica runs this
/// controller, because every replica serves the webhook.
struct AccountName(Arc<Installer>);

impl Reconciler for AccountName {
    type Key = ();
    type Error = InstallError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, InstallError> {
        match client_account(&self.0.client).await {
            Ok(server) => {
                self.0.reviews.set_server_account(&server);
                Ok(Action::await_change())
            }
            Err(error) => {
                let error = error.into();
                self.0.record_failure(&error, false).await;
                Err(error)
            }
        }
    }

    /// Returns true, so that the runtime does not log the error as a failure. `record_failure`
    /// already logs the error with a remedy.
    fn is_expected(&self, _: &InstallError) -> bool {
        true
    }
}

/// The reconciler of the webhook configuration.
struct InstalledRules {
    installer: Arc<Installer>,
    /// The last applied configuration.
    applied: Mutex<Option<Value>>,
}

impl Reconciler for InstalledRules {
    type Key = ();
    type Error = InstallError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, InstallError> {
        let mut applied = self.applied.lock().await;
        if let Err(error) = self.installer.step(&mut applied).await {
            self.installer.record_failure(&error, true).await;
            return Err(error);
        }
        self.installer.status.set(WebhookState::InForce);
        Ok(Action::requeue(REAPPLY_INTERVAL))
    }

    /// Returns true, so that the runtime does not log the error as a failure. `record_failure`
    /// already logs the error with a remedy.
    fn is_expected(&self, _: &InstallError) -> bool {
        true
    }
}

impl Installer {
    /// Runs the controllers of the webhook.
    pub async fn run(self, runtime: Runtime) {
        let installer = Arc::new(self);
        let name = AccountName(Arc::clone(&installer));
        let rules = InstalledRules {
            installer,
            applied: Mutex::default(),
        };
        let options = Options {
            timeout: Some(STEP_TIMEOUT),
            backoff: BACKOFF,
            ..Options::new("admission-rules")
        };
        let every_replica = runtime.in_every_replica();
        tokio::join!(
            every_replica.run_single(Options::new("admission-account"), name, []),
            runtime.run_single(options, rules, []),
        );
    }

    async fn record_failure(&self, error: &InstallError, leads: bool) {
        // Only the leader installs the webhook and reports its state.
        let state = if error.is_transient() || !leads {
            None
        } else {
            Some(self.remaining_state(error).await)
        };
        if let Some(state) = state {
            self.status.set(state);
        }
        if leads {
            self.status.record_failed_attempt();
        }
        error.log(state);
    }

    /// Returns the state of the webhook after a failed installation. The hub may still have the
    /// webhook of an earlier installation, possibly with a different address.
    async fn remaining_state(&self, error: &InstallError) -> WebhookState {
        match configuration(&self.client).await {
            // The Helm chart creates the configuration without webhooks.
            Ok(Some(found)) if found.webhooks.as_ref().is_none_or(Vec::is_empty) => {
                WebhookState::Missing
            }
            // A rejected call does not show whether the hub reaches the server.
            Ok(Some(_)) if error.is_hub_error() => WebhookState::Unknown,
            Ok(Some(_)) => WebhookState::Unanswered,
            Ok(None) => WebhookState::Missing,
            Err(_) => WebhookState::Unknown,
        }
    }

    async fn step(&self, applied: &mut Option<Value>) -> Result<(), InstallError> {
        let server = client_account(&self.client).await?;
        self.reviews.set_server_account(&server);
        let address = self.address()?;
        let asking = WebhookConfig {
            address: &address,
            trust: self.trust.as_deref(),
            segment: self.reviews.segment(),
            server: &server,
        };
        let rules = asking.rules();
        if applied.as_ref() != Some(&rules) {
            self.probe_connection(&asking).await?;
        }
        self.apply(CONFIGURATION, &rules).await?;
        self.attempt(CHECK, &address).await?;
        if applied.as_ref() != Some(&rules) {
            tracing::info!(%address, "admission webhook installed");
        }
        *applied = Some(rules);
        Ok(())
    }

    fn address(&self) -> Result<Address, InstallError> {
        if let Some(address) = &self.address {
            return Ok(address.clone());
        }
        let url = self.settings.server_url();
        url.parse().map_err(|_| InstallError::NoAddress(url))
    }

    async fn apply(&self, name: &str, configuration: &Value) -> Result<(), InstallError> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
        let patch = Patch::Apply(configuration);
        let applying = api.patch(name, &params, &patch);
        let stored = call("apply the admission webhook", applying).await?;
        let bounded = stored.webhooks.into_iter().flatten().all(|webhook| {
            let conditions = webhook.match_conditions;
            conditions.is_some_and(|conditions| !conditions.is_empty())
        });
        if bounded {
            return Ok(());
        }
        // Without conditions the webhook would match all writes, the server's own included.
        self.remove(name).await?;
        Err(InstallError::TooOld)
    }

    async fn remove(&self, name: &str) -> Result<(), HubError> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let params = DeleteParams::default();
        match call("delete a webhook", api.delete(name, &params)).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn probe_connection(&self, asking: &WebhookConfig<'_>) -> Result<(), InstallError> {
        self.apply(PROBE, &asking.probe()).await?;
        let result = self.attempt(PROBE, asking.address).await;
        self.remove(PROBE).await?;
        result
    }

    /// Repeats the dry-run creation of an object until the hub calls the webhook.
    async fn attempt(&self, name: &str, address: &Address) -> Result<(), InstallError> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), HUB_NAMESPACE);
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        for _ in 0..MAX_PROBES {
            match call("test the webhook", maps.create(&params, &map)).await {
                // The hub has not loaded the webhook yet.
                Ok(_) => sleep(PROBE_INTERVAL).await,
                Err(error) => {
                    let denied = check_denial(error, name, address);
                    return denied.map_err(|error| error.redacted(self.reviews.segment()));
                }
            }
        }
        Err(InstallError::NeverCalled(address.to_string()))
    }
}

/// Returns `Ok` if the hub's error shows that the server's webhook denied the test object `object`.
/// The denial proves that the hub calls the webhook. Returns an error otherwise.
fn check_denial(error: HubError, object: &str, address: &Address) -> Result<(), InstallError> {
    let message = error.answer().map(|status| status.message.clone());
    let message = message.unwrap_or_default();
    if message.contains("failed calling webhook") {
        let address = address.to_string();
        return Err(InstallError::Unreachable { address, message });
    }
    if message.contains("denied the request") && message.ends_with(object) {
        return Ok(());
    }
    Err(error.into())
}

#[cfg(test)]
mod tests;
