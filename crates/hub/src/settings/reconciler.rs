//! Reconciles the hub's Setting objects: creates an object for each known setting, and writes the
//! effective value to its status.

use std::convert::Infallible;
use std::time::Duration;

use drover_access::setting::Setting;
use drover_api::conditions::{ConditionValue, Tristate, VALID, set_condition};
use drover_api::kinds::{self, SettingSpec, SettingStatus};
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::json;

use super::Settings;
use crate::{Hub, HubError};
use drover_telemetry::LogFilter;

/// Debounce delay. Changes within this delay cause a single reconciliation.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// The next action of the reconciler for one setting.
#[derive(Debug, PartialEq)]
enum Step {
    Nothing,
    Create,
    WriteStatus(SettingStatus),
}

/// The reconciler of all Setting objects.
struct SettingObjects {
    hub: Hub,
    settings: Settings,
}

impl Reconciler for SettingObjects {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        step_all(&self.hub, &self.settings).await?;
        Ok(Action::await_change())
    }
}

/// Runs the controller of the Setting objects.
pub async fn run(hub: Hub, settings: Settings, runtime: Runtime) {
    let options = Options {
        debounce: DEBOUNCE,
        backoff: Backoff::new(Duration::from_millis(500), Duration::from_secs(30)),
        ..Options::new("settings")
    };
    let changed = hub.stores().changed();
    let reconciler = SettingObjects { hub, settings };
    runtime.run_single(options, reconciler, [changed]).await;
}

/// The reconciler that applies the setting `log-filter`.
struct LogFilterSetting {
    settings: Settings,
    filter: LogFilter,
    /// The last log filter that the controller tried to apply, with or without success.
    tried: Mutex<String>,
}

impl Reconciler for LogFilterSetting {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        let desired = self.settings.in_effect(Setting::LogFilter);
        let before = std::mem::replace(&mut *self.tried.lock(), desired.clone());
        if desired != before {
            match self.filter.set(&desired) {
                Ok(()) => tracing::info!(filter = desired, "log filter changed"),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "failed to apply the setting log-filter");
                }
            }
        }
        Ok(Action::await_change())
    }
}

/// Runs the controller of this process's log filter, in every replica.
pub async fn run_log_filter(settings: Settings, filter: LogFilter, runtime: Runtime) {
    let changed = settings.stores.changed();
    let reconciler = LogFilterSetting {
        tried: Mutex::new(filter.current()),
        settings,
        filter,
    };
    let runtime = runtime.in_every_replica();
    let options = Options::new("log-filter");
    runtime.run_single(options, reconciler, [changed]).await;
}

async fn step_all(hub: &Hub, settings: &Settings) -> Result<(), HubError> {
    if !hub.stores().settings.is_synced() {
        return Ok(());
    }
    for setting in Setting::ALL {
        let stored = hub.stores().settings.by_name(setting.name());
        match decide(settings, setting, stored.as_deref(), Timestamp::now()) {
            Step::Nothing => {}
            Step::Create => create(hub, setting).await?,
            Step::WriteStatus(status) => write_status(hub, setting, &status).await?,
        }
    }
    Ok(())
}

fn decide(
    settings: &Settings,
    setting: Setting,
    stored: Option<&kinds::Setting>,
    now: Timestamp,
) -> Step {
    let Some(stored) = stored else {
        return Step::Create;
    };
    let before = stored.status.clone().unwrap_or_default();
    let mut after = SettingStatus {
        in_effect: settings.resolve(setting, &stored.spec.value),
        conditions: before.conditions.clone(),
    };
    let condition_value = condition_value(settings, setting, &stored.spec.value);
    set_condition(
        &mut after.conditions,
        VALID,
        &condition_value,
        stored.metadata.generation,
        now,
    );
    if after == before {
        Step::Nothing
    } else {
        Step::WriteStatus(after)
    }
}

fn condition_value(settings: &Settings, setting: Setting, value: &str) -> ConditionValue {
    let checked = Settings::check(setting, value);
    if let (Ok(()), Some(reason)) = (&checked, settings.override_reason(setting)) {
        return ConditionValue {
            status: Tristate::True,
            reason: "Overruled",
            message: format!("not in effect: {reason}"),
        };
    }
    match checked {
        Ok(()) if value.is_empty() => ConditionValue {
            status: Tristate::True,
            reason: "Default",
            message: "the setting is empty; the default is in effect".to_owned(),
        },
        Ok(()) => ConditionValue {
            status: Tristate::True,
            reason: "Set",
            message: "the value is in effect".to_owned(),
        },
        Err(error) => ConditionValue {
            status: Tristate::False,
            reason: "Invalid",
            message: format!("{error}; the default is in effect"),
        },
    }
}

async fn create(hub: &Hub, setting: Setting) -> Result<(), HubError> {
    let object = kinds::Setting::new(
        setting.name(),
        SettingSpec {
            value: String::new(),
        },
    );
    // The reconciler reads the store again after the store's notification.
    let writer = hub.writer().without_wait();
    match writer.create("create a setting", &object).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}

async fn write_status(hub: &Hub, setting: Setting, status: &SettingStatus) -> Result<(), HubError> {
    let patch = json!({ "status": status });
    // The reconciler reads the store again after the store's notification.
    let writer = hub.writer::<kinds::Setting>().with_manager().without_wait();
    let writing = writer.patch_status("write a setting's status", setting.name(), &patch);
    match writing.await {
        Ok(written) => {
            tracing::info!(
                setting.name = written.name_any(),
                value = status.in_effect,
                "applied a setting"
            );
            Ok(())
        }
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stores;

    #[test]
    fn condition_of_overridden_log_filter_setting_has_reason_overruled() {
        let settings = Settings::new(Stores::new(), "https://127.0.0.1:8443");
        let with_option = settings.clone().with_log_filter(Some("warn".to_owned()));
        for (settings, value, status, reason) in [
            (&settings, "debug", "True", "Set"),
            (&settings, "a=loud", "False", "Invalid"),
            (&with_option, "debug", "True", "Overruled"),
            (&with_option, "a=loud", "False", "Invalid"),
        ] {
            let condition_value = condition_value(settings, Setting::LogFilter, value);
            assert_eq!(
                (condition_value.status.as_str(), condition_value.reason),
                (status, reason)
            );
        }
    }

    #[test]
    fn missing_setting_is_created_and_its_status_is_written_once() {
        let settings = Settings::new(Stores::new(), "https://127.0.0.1:8443");
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(
            decide(&settings, Setting::SessionTtl, None, now),
            Step::Create
        );
        for (value, in_effect, status, reason) in [
            ("", "16h", "True", "Default"),
            ("2h", "2h", "True", "Set"),
            ("soon", "16h", "False", "Invalid"),
        ] {
            let spec = SettingSpec {
                value: value.to_owned(),
            };
            let mut object = kinds::Setting::new("session-ttl", spec);
            let Step::WriteStatus(written) =
                decide(&settings, Setting::SessionTtl, Some(&object), now)
            else {
                panic!("{value:?} has no status");
            };
            assert_eq!(written.in_effect, in_effect);
            let condition = &written.conditions[0];
            assert_eq!((&*condition.status, &*condition.reason), (status, reason));
            object.status = Some(written);
            let later = Timestamp::from_second(60).unwrap();
            assert_eq!(
                decide(&settings, Setting::SessionTtl, Some(&object), later),
                Step::Nothing
            );
        }
    }
}
