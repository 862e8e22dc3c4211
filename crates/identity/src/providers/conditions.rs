//! Writes the Ready condition of AuthProviders, and the time of the last response of each provider.
//! The server tests an enabled provider after each change and every 15 minutes. The server tests a
//! failing provider more often.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::conditions::{ConditionValue, READY, Tristate, set_condition};
use drover_api::kinds::{AuthProvider, AuthProviderStatus};
use drover_providers::ProviderError;
use drover_reconcile::{Action, Attempt, Controller, Options, Reconciler, Runtime, on_change_of};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::ProviderLogins;
use super::configured::{Configured, UseError, is_not_deleted};
use super::connection_test::{self, ConnectionTest, reasons};
use drover_hub::{Hub, HubError};

/// The interval between checks of all providers. The interval is necessary because the change of a
/// Secret triggers no event.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// The debounce delay of changes.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// The test intervals of providers: after a successful test, and after a failed test.
const TEST_INTERVALS: (Duration, Duration) = (Duration::from_mins(15), Duration::from_mins(2));
/// The timeout of a connection test.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The maximum number of concurrent tests.
const CONCURRENCY: usize = 4;
/// The minimum difference between the stored and the new time of the last response. The server does
/// not write a smaller difference.
const MIN_INCREASE: SignedDuration = SignedDuration::from_mins(5);
/// The maximum length of a condition's message in characters.
const MAX_MESSAGE: usize = 1024;

/// The reconciler of the condition of each provider.
struct ProviderConditions {
    hub: Hub,
    provider_logins: ProviderLogins,
    tested: Mutex<HashMap<String, Arc<TestResult>>>,
}

impl Reconciler for ProviderConditions {
    /// The provider's UID.
    type Key = String;
    type Error = HubError;

    async fn reconcile(&self, uid: &String, _: &Attempt) -> Result<Action, HubError> {
        let stores = self.hub.stores();
        let Some(provider) = stores.auth_providers.by_uid(uid) else {
            self.tested.lock().remove(uid);
            return Ok(Action::await_change());
        };
        if is_not_deleted(&provider) && stores.health().is_trusted() {
            self.test_and_write(uid, &provider).await?;
        }
        Ok(Action::requeue(CHECK_INTERVAL))
    }
}

impl ProviderConditions {
    async fn test_and_write(&self, uid: &str, provider: &AuthProvider) -> Result<(), HubError> {
        let before = self.tested.lock().get(uid).cloned();
        let tested = match test(&self.provider_logins, provider, before.as_deref()).await {
            Some(new) => Some(Arc::new(new)),
            None => before,
        };
        let Some(tested) = tested else { return Ok(()) };
        self.tested
            .lock()
            .insert(uid.to_owned(), Arc::clone(&tested));
        write(
            &self.hub,
            &self.provider_logins,
            provider,
            &tested.condition_value,
        )
        .await
    }
}

/// Runs the controller of the conditions.
pub async fn run(hub: Hub, provider_logins: ProviderLogins, runtime: Runtime) {
    let options = Options {
        concurrency: CONCURRENCY,
        debounce: DEBOUNCE,
        ..Options::new("auth-providers")
    };
    let providers = hub.stores().auth_providers.clone();
    let uids = move || -> Vec<String> {
        let all = providers.all().into_iter();
        all.filter_map(|provider| provider.uid()).collect()
    };
    let changed = hub.stores().auth_providers.changed();
    let reconciler = ProviderConditions {
        hub,
        provider_logins,
        tested: Mutex::default(),
    };
    let controller = Controller::new(runtime.trigger(options), reconciler)
        .on(on_change_of(changed, uids.clone()))
        .at_start(uids);
    runtime.run(controller).await;
}

/// The result of a connection test, and the time of the next test.
struct TestResult {
    /// The client that was tested. A change of the spec or the Secret creates a new client.
    configured: Option<Arc<Configured>>,
    next: Instant,
    condition_value: ConditionValue,
}

/// Tests a provider. Returns `None` if the previous result is still current.
async fn test(
    provider_logins: &ProviderLogins,
    provider: &AuthProvider,
    before: Option<&TestResult>,
) -> Option<TestResult> {
    let (well, ill) = TEST_INTERVALS;
    let untested = |condition_value| TestResult {
        configured: None,
        next: Instant::now(),
        condition_value,
    };
    if !provider.spec.enabled {
        let name = provider.name_any();
        return Some(untested(condition_false(
            "Disabled",
            format!(
                "the provider is disabled; run \"drover provider test {name}\", then \"drover provider \
                 enable {name}\""
            ),
        )));
    }
    let configured = match provider_logins.providers().configured(provider).await {
        Ok(configured) => configured,
        Err(error) => return Some(untested(condition_of_use_error(&error))),
    };
    let unchanged = before.filter(|before| {
        let same = |one: &Arc<Configured>| Arc::ptr_eq(one, &configured);
        before.configured.as_ref().is_some_and(same) && Instant::now() < before.next
    });
    if unchanged.is_some() {
        return None;
    }
    let condition_value = match provider_logins.callback_url(&provider.name_any()) {
        Err(error) => condition_of_provider_error(&error),
        Ok(back) => {
            let trying = connection_test::run(&configured, &back, None, Timestamp::now());
            match timeout(TEST_TIMEOUT, Box::pin(trying)).await {
                Ok(test) => condition_of_test(&test),
                Err(_) => condition_false(
                    "Unavailable",
                    "the provider did not respond within a minute".to_owned(),
                ),
            }
        }
    };
    let works = condition_value.status == Tristate::True;
    Some(TestResult {
        configured: Some(configured),
        next: Instant::now() + if works { well } else { ill },
        condition_value,
    })
}

fn condition_of_test(test: &ConnectionTest) -> ConditionValue {
    match (test.works, test.problem()) {
        (true, None) => condition_true("the provider responds, and users can sign in".to_owned()),
        (true, Some((check, _))) => condition_true(format!(
            "users can sign in, but {}: {}",
            check.what,
            check.sentence()
        )),
        (false, Some((check, error))) => {
            let condition_value = condition_of_provider_error(error);
            ConditionValue {
                message: format!("{}: {}", check.what, condition_value.message),
                ..condition_value
            }
        }
        (false, None) => condition_false(
            "Misconfigured",
            "the provider has no user that can sign in".to_owned(),
        ),
    }
}

fn condition_of_use_error(error: &UseError) -> ConditionValue {
    match error {
        UseError::Provider(error) => condition_of_provider_error(error),
        UseError::NoSuch(_) | UseError::Hub(_) => condition_false("Unknown", reasons(error)),
    }
}

fn condition_of_provider_error(error: &ProviderError) -> ConditionValue {
    let reason = match error {
        ProviderError::Refused(_) => "Refused",
        ProviderError::Unavailable { .. } => "Unavailable",
        ProviderError::Misconfigured { .. } => "Misconfigured",
        ProviderError::InvalidResponse { .. } => "Unbelievable",
    };
    condition_false(reason, reasons(error))
}

fn condition_true(message: String) -> ConditionValue {
    ConditionValue {
        status: Tristate::True,
        reason: "Answers",
        message,
    }
}

fn condition_false(reason: &'static str, message: String) -> ConditionValue {
    ConditionValue {
        status: Tristate::False,
        reason,
        message,
    }
}

async fn write(
    hub: &Hub,
    provider_logins: &ProviderLogins,
    provider: &AuthProvider,
    condition_value: &ConditionValue,
) -> Result<(), HubError> {
    let now = Timestamp::now();
    let before = provider.status.clone().unwrap_or_default();
    let uid = provider.uid().unwrap_or_default();
    let answered = provider_logins.providers().last_answer(&uid);
    let Some(after) = desired_status(
        &before,
        condition_value,
        answered,
        provider.metadata.generation,
        now,
    ) else {
        return Ok(());
    };
    let patch = json!({ "metadata": { "uid": uid }, "status": after });
    // The condition is for display, so the reconciliation continues without a wait.
    let writer = hub.writer::<AuthProvider>().without_wait();
    let operation = "write the condition of an identity provider";
    let name = provider.name_any();
    let written = writer.patch_status(operation, &name, &patch);
    match written.await {
        Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Returns the status to write. Returns `None` if the condition is unchanged and the last response
/// is less than [`MIN_INCREASE`] after the stored time.
fn desired_status(
    before: &AuthProviderStatus,
    condition_value: &ConditionValue,
    answered: Option<Timestamp>,
    generation: Option<i64>,
    now: Timestamp,
) -> Option<AuthProviderStatus> {
    let mut after = before.clone();
    let condition_value = ConditionValue {
        message: condition_value.message.chars().take(MAX_MESSAGE).collect(),
        ..condition_value.clone()
    };
    let mut differs = set_condition(
        &mut after.conditions,
        READY,
        &condition_value,
        generation,
        now,
    );
    let written = before.last_answer_at.as_ref().map(|time| time.0);
    if let Some(answered) = answered
        && written.is_none_or(|written| answered.duration_since(written) > MIN_INCREASE)
    {
        after.last_answer_at = Some(Time(answered));
        differs = true;
    }
    differs.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_provider_status_is_written_at_most_every_five_minutes() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let well = condition_true("the provider responds".to_owned());
        let before = AuthProviderStatus::default();
        let first = desired_status(&before, &well, Some(at(10)), Some(1), at(11)).unwrap();
        assert_eq!(first.last_answer_at, Some(Time(at(10))));
        assert_eq!(
            desired_status(&first, &well, Some(at(300)), Some(1), at(301)),
            None
        );
        let later = desired_status(&first, &well, Some(at(311)), Some(1), at(312)).unwrap();
        assert_eq!(later.conditions, first.conditions);
        let ill = condition_false("Unavailable", "x".repeat(5000));
        let ill = desired_status(&first, &ill, Some(at(10)), Some(1), at(20)).unwrap();
        assert_eq!(ill.conditions[0].status, "False");
        assert_eq!(ill.conditions[0].message.len(), MAX_MESSAGE);
    }
}
