//! Puts the rules into force on a hub elsewhere, and keeps them there.
//!
//! A webhook that fails closed and that nobody answers would stop people from working, so the
//! first time the hub is made to show that it reaches the server: with a webhook for one object
//! that nobody makes, and an attempt, not to be stored, to make that object. Later the rules' own
//! configuration is tried in the same way, so that it is noticed when the hub stops reaching it.

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

use super::account::{AccountError, configuration, whoami};
use super::address::Address;
use super::review::Reviews;
use super::webhook::{Asking, CHECK, PROBE};
use super::webhook_status::{WebhookState, WebhookStatus};
use crate::settings::Settings;
use crate::webhook_name::CONFIGURATION;
use crate::{HubError, call};

/// Applied again after this long, in case somebody else changed it.
const AGAIN: Duration = Duration::from_mins(5);
/// Longest time of one attempt: a hub that does not answer makes each probe long.
const STEP_WITHIN: Duration = Duration::from_mins(10);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// How long a hub may take to ask a new webhook.
const PROBES: u32 = 40;
const BETWEEN_PROBES: Duration = Duration::from_millis(250);

/// Why the rules are not in force.
#[derive(Debug, Error)]
enum NotInForce {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Nameless(#[from] AccountError),
    #[error("there is no address: {0:?} is none that a hub could reach")]
    NoAddress(String),
    #[error("the hub cannot reach the server at {address}: {said}")]
    Unreachable { address: String, said: String },
    #[error("the hub never asked the server at {0}")]
    NeverAsked(String),
    #[error("the hub knows no matchConditions: it is older than Kubernetes 1.30")]
    TooOld,
}

impl NotInForce {
    /// Whether it is the hub's word about the server, and not about the way between them.
    fn is_of_hub(&self) -> bool {
        matches!(self, Self::Hub(_) | Self::Nameless(_))
    }

    /// Whether the hub may well say otherwise in a moment: then things are as they were.
    fn passes(&self) -> bool {
        let (Self::Hub(error) | Self::Nameless(AccountError::Hub(error))) = self else {
            return false;
        };
        // No answer, a failure of the hub's own, or one that asks to try again.
        let refused = |code| (400..500).contains(&code) && !matches!(code, 408 | 409 | 429);
        !error.code().is_some_and(refused)
    }

    /// Without the path's secret part, which a hub tells when it does not reach the server.
    fn hiding(self, segment: &str) -> Self {
        match self {
            Self::Unreachable { address, said } => Self::Unreachable {
                address,
                said: said.replace(segment, "…"),
            },
            other => other,
        }
    }

    fn log(&self, standing: Option<WebhookState>) {
        let error = self as &dyn std::error::Error;
        match standing {
            None | Some(WebhookState::Unknown) => tracing::warn!(
                error,
                "the rules about writes to the hub could not be looked after; trying again"
            ),
            Some(WebhookState::Unanswered) => tracing::warn!(
                error,
                "the hub was told to ask about writes, and does not reach this server: it refuses \
                 what others write to Drover's kinds, to roles and to accounts' tokens; name an \
                 address at which the hub's API server reaches this server with --hub-webhook, or \
                 until then: kubectl delete validatingwebhookconfiguration {CONFIGURATION}"
            ),
            Some(_) if self.is_of_hub() => tracing::warn!(
                error,
                "the rules about writes to the hub are not in force for who writes to it \
                 directly, because the hub refuses what it takes to install them; let the server's \
                 account do what the error names"
            ),
            Some(_) => tracing::warn!(
                error,
                "the rules about writes to the hub are not in force for who writes to it \
                 directly; name an address at which the hub's API server reaches this server with \
                 --hub-webhook"
            ),
        }
    }
}

/// What it takes to put the rules into force.
pub struct Installer {
    /// The hub.
    pub client: Client,
    /// Where the hub asks.
    pub reviews: Reviews,
    /// The address that was given.
    pub address: Option<Address>,
    /// The address if none was given: the server's own.
    pub settings: Settings,
    /// What the hub has to trust, PEM.
    pub trust: Option<String>,
    /// Where it is told how things stand.
    pub status: WebhookStatus,
}

/// Tells the reviews under which account this server writes; every replica answers the hub.
struct AccountName(Arc<Installer>);

impl Reconciler for AccountName {
    type Key = ();
    type Error = NotInForce;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, NotInForce> {
        match whoami(&self.0.client).await {
            Ok(server) => {
                self.0.reviews.server_is(&server);
                Ok(Action::await_change())
            }
            Err(error) => {
                let error = error.into();
                self.0.record_failure(&error, false).await;
                Err(error)
            }
        }
    }

    /// `record_failure` logs what to do about it.
    fn is_expected(&self, _: &NotInForce) -> bool {
        true
    }
}

/// Keeps the rules in force.
struct InstalledRules {
    installer: Arc<Installer>,
    /// The configuration that was applied last.
    applied: Mutex<Option<Value>>,
}

impl Reconciler for InstalledRules {
    type Key = ();
    type Error = NotInForce;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, NotInForce> {
        let mut applied = self.applied.lock().await;
        if let Err(error) = self.installer.step(&mut applied).await {
            self.installer.record_failure(&error, true).await;
            return Err(error);
        }
        self.installer.status.set(WebhookState::InForce);
        Ok(Action::requeue(AGAIN))
    }

    /// `record_failure` logs what to do about it.
    fn is_expected(&self, _: &NotInForce) -> bool {
        true
    }
}

impl Installer {
    /// Runs the controllers that put the rules into force.
    pub async fn run(self, runtime: Runtime) {
        let installer = Arc::new(self);
        let name = AccountName(Arc::clone(&installer));
        let rules = InstalledRules {
            installer,
            applied: Mutex::default(),
        };
        let options = Options {
            timeout: Some(STEP_WITHIN),
            backoff: BACKOFF,
            ..Options::new("admission-rules")
        };
        let every_replica = runtime.in_every_replica();
        tokio::join!(
            every_replica.run_single(Options::new("admission-account"), name, []),
            runtime.run_single(options, rules, []),
        );
    }

    async fn record_failure(&self, error: &NotInForce, leads: bool) {
        // Another server installs them, where this one does not lead.
        let standing = if error.passes() || !leads {
            None
        } else {
            Some(self.left_behind(error).await)
        };
        if let Some(standing) = standing {
            self.status.set(standing);
        }
        if leads {
            self.status.record_failed_attempt();
        }
        error.log(standing);
    }

    /// How things stand when the rules were not put into force: the hub may have been told to ask
    /// before, perhaps at another address.
    async fn left_behind(&self, error: &NotInForce) -> WebhookState {
        match configuration(&self.client).await {
            // Installed by a chart, it is there before it asks anything.
            Ok(Some(found)) if found.webhooks.as_ref().is_none_or(Vec::is_empty) => {
                WebhookState::Missing
            }
            // A hub that refuses something has not said whether it reaches the server.
            Ok(Some(_)) if error.is_of_hub() => WebhookState::Unknown,
            Ok(Some(_)) => WebhookState::Unanswered,
            Ok(None) => WebhookState::Missing,
            Err(_) => WebhookState::Unknown,
        }
    }

    async fn step(&self, applied: &mut Option<Value>) -> Result<(), NotInForce> {
        let server = whoami(&self.client).await?;
        self.reviews.server_is(&server);
        let address = self.address()?;
        let asking = Asking {
            address: &address,
            trust: self.trust.as_deref(),
            segment: self.reviews.segment(),
            server: &server,
        };
        let rules = asking.rules();
        if applied.as_ref() != Some(&rules) {
            self.prove_reachable(&asking).await?;
        }
        self.apply(CONFIGURATION, &rules).await?;
        self.attempt(CHECK, &address).await?;
        if applied.as_ref() != Some(&rules) {
            tracing::info!(%address, "the hub asks this server about writes");
        }
        *applied = Some(rules);
        Ok(())
    }

    fn address(&self) -> Result<Address, NotInForce> {
        if let Some(address) = &self.address {
            return Ok(address.clone());
        }
        let url = self.settings.server_url();
        url.parse().map_err(|_| NotInForce::NoAddress(url))
    }

    async fn apply(&self, name: &str, configuration: &Value) -> Result<(), NotInForce> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
        let patch = Patch::Apply(configuration);
        let applying = api.patch(name, &params, &patch);
        let stored = call("apply the webhook of the rules", applying).await?;
        let bounded = stored.webhooks.into_iter().flatten().all(|webhook| {
            let conditions = webhook.match_conditions;
            conditions.is_some_and(|conditions| !conditions.is_empty())
        });
        if bounded {
            return Ok(());
        }
        // It would ask about everybody's writes, the server's own included.
        self.remove(name).await?;
        Err(NotInForce::TooOld)
    }

    async fn remove(&self, name: &str) -> Result<(), HubError> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let params = DeleteParams::default();
        match call("remove a webhook", api.delete(name, &params)).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn prove_reachable(&self, asking: &Asking<'_>) -> Result<(), NotInForce> {
        self.apply(PROBE, &asking.probe()).await?;
        let proved = self.attempt(PROBE, asking.address).await;
        self.remove(PROBE).await?;
        proved
    }

    /// Tries to make the object until the hub asks about it; it is never stored.
    async fn attempt(&self, name: &str, address: &Address) -> Result<(), NotInForce> {
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
        for _ in 0..PROBES {
            match call("try the webhook", maps.create(&params, &map)).await {
                // The hub has not heard of the webhook yet.
                Ok(_) => sleep(BETWEEN_PROBES).await,
                Err(error) => {
                    let said = verdict(error, name, address);
                    return said.map_err(|not| not.hiding(self.reviews.segment()));
                }
            }
        }
        Err(NotInForce::NeverAsked(address.to_string()))
    }
}

/// What the hub's refusal of the object says: the server's own word, or that it was not reached.
fn verdict(error: HubError, object: &str, address: &Address) -> Result<(), NotInForce> {
    let said = error.answer().map(|status| status.message.clone());
    let said = said.unwrap_or_default();
    if said.contains("failed calling webhook") {
        let address = address.to_string();
        return Err(NotInForce::Unreachable { address, said });
    }
    if said.contains("denied the request") && said.ends_with(object) {
        return Ok(());
    }
    Err(error.into())
}

#[cfg(test)]
mod tests;
