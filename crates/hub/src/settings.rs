//! The effective values of the server's settings, computed from the hub's Setting objects.

pub mod reconciler;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drover_access::setting::Setting;

use crate::Stores;
use drover_telemetry::LogFilter;

/// The effective values of all settings. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Settings {
    stores: Stores,
    /// The server's URL while the setting `server-url` is empty.
    fallback_url: Arc<str>,
    /// The log filter of the command line. This filter overrides the setting.
    log_filter: Option<Arc<str>>,
    /// Additional DNS names for the serving certificate: the host name in the admission webhook's
    /// address, and the host names of port forwards.
    additional_names: BTreeSet<String>,
}

impl Settings {
    /// Creates the settings from the stores. `fallback_url` is `https://host:port` of this server.
    pub fn new(stores: Stores, fallback_url: &str) -> Self {
        Self {
            stores,
            fallback_url: fallback_url.into(),
            log_filter: None,
            additional_names: BTreeSet::new(),
        }
    }

    /// Sets the log filter of the command line. `None` if the command line has no log filter.
    #[must_use]
    pub fn with_log_filter(mut self, filter: Option<String>) -> Self {
        self.log_filter = filter.map(Arc::from);
        self
    }

    /// Adds a DNS name to the serving certificate. `None` for no additional name.
    #[must_use]
    pub fn with_certificate_name(mut self, name: Option<String>) -> Self {
        self.additional_names.extend(name);
        self
    }

    /// Checks a value with the same parser that later applies the value. The error describes the
    /// valid format.
    pub fn check(setting: Setting, value: &str) -> Result<(), String> {
        setting.check(value).map_err(|error| error.to_string())?;
        match setting {
            Setting::LogFilter => {
                LogFilter::check(value).map_err(|error| format!("setting log-filter: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns a sentence that names the command line option that overrides a setting. Returns
    /// `None` if no option overrides the setting.
    pub fn override_reason(&self, setting: Setting) -> Option<&'static str> {
        let with_option = setting == Setting::LogFilter && self.log_filter.is_some();
        with_option.then_some("the server's option --log-filter overrides the setting")
    }

    /// Returns the value in the Setting object. Returns an empty string if no value is set.
    pub fn configured(&self, setting: Setting) -> String {
        let object = self.stores.settings.by_name(setting.name());
        object
            .map(|object| object.spec.value.clone())
            .unwrap_or_default()
    }

    /// Returns the default value of a setting.
    pub fn default_value(&self, setting: Setting) -> String {
        match setting {
            Setting::ServerUrl => self.fallback_url.to_string(),
            _ => setting.default_value().to_owned(),
        }
    }

    /// Returns the effective value of a setting.
    pub fn in_effect(&self, setting: Setting) -> String {
        self.resolve(setting, &self.configured(setting))
    }

    /// Returns the effective value of a setting whose Setting object contains the value `desired`.
    pub fn resolve(&self, setting: Setting, desired: &str) -> String {
        if let (Setting::LogFilter, Some(filter)) = (setting, &self.log_filter) {
            return filter.to_string();
        }
        let valid = Self::check(setting, desired).is_ok();
        match setting.in_effect(if valid { desired } else { "" }) {
            "" => self.default_value(setting),
            value => value.to_owned(),
        }
    }

    /// Returns the effective value of a setting as a duration.
    pub fn ttl(&self, setting: Setting) -> Duration {
        self.stores.duration(setting)
    }

    /// Returns the server's URL for agents and users, in the form `https://host:port`.
    pub fn server_url(&self) -> String {
        self.in_effect(Setting::ServerUrl)
    }

    /// Returns the names and addresses that the serving certificate must contain.
    pub fn certificate_names(&self, listen: &std::net::SocketAddr) -> BTreeSet<String> {
        let mut names: BTreeSet<String> =
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !listen.ip().is_unspecified() {
            names.insert(listen.ip().to_string());
        }
        names.extend(self.additional_names.iter().cloned());
        for url in [&*self.fallback_url, &self.server_url()] {
            let host = url
                .parse::<http::Uri>()
                .ok()
                .and_then(|uri| uri.host().map(str::to_owned));
            names.extend(host.map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::SettingSpec;

    use super::*;

    #[test]
    fn invalid_or_empty_setting_is_replaced_by_its_default() {
        let stores = Stores::new();
        let settings = Settings::new(stores.clone(), "https://127.0.0.1:8443");
        assert_eq!(settings.server_url(), "https://127.0.0.1:8443");
        let set = |name: &str, value: &str| {
            let spec = SettingSpec {
                value: value.to_owned(),
            };
            stores
                .settings
                .apply(drover_api::kinds::Setting::new(name, spec));
        };
        set("server-url", "http://plain.example");
        assert_eq!(settings.server_url(), "https://127.0.0.1:8443");
        set("server-url", "https://drover.example:444");
        assert_eq!(settings.server_url(), "https://drover.example:444");
        set("session-ttl", "2h");
        assert_eq!(settings.ttl(Setting::SessionTtl), Duration::from_hours(2));
        set("session-ttl", "-5");
        assert_eq!(settings.ttl(Setting::SessionTtl), Duration::from_hours(16));
    }

    #[test]
    fn crd_validation_accepts_only_known_setting_names() {
        let definitions = drover_api::kinds::definitions();
        let text = serde_json::to_string(&definitions).unwrap();
        let names = Setting::ALL.map(|setting| format!("'{}'", setting.name()));
        let rule = format!("self.metadata.name in [{}]", names.join(", "));
        assert!(text.contains(&rule), "add this rule to the kind: {rule}");
    }

    #[test]
    fn log_filter_setting_is_validated_and_overridden_by_the_command_line() {
        for (value, good) in [
            ("", true),
            ("debug", true),
            ("info,drover_proxy=debug", true),
            ("info,drover_server=loud", false),
            ("=[", false),
        ] {
            let checked = Settings::check(Setting::LogFilter, value);
            assert_eq!(checked.is_ok(), good, "{value}: {checked:?}");
        }
        let settings = Settings::new(Stores::new(), "https://127.0.0.1:8443");
        assert_eq!(settings.resolve(Setting::LogFilter, "a=loud"), "info");
        assert_eq!(settings.resolve(Setting::LogFilter, "debug"), "debug");
        let with_option = settings.with_log_filter(Some("warn".to_owned()));
        assert_eq!(with_option.resolve(Setting::LogFilter, "debug"), "warn");
        assert!(with_option.override_reason(Setting::LogFilter).is_some());
        assert!(with_option.override_reason(Setting::ServerUrl).is_none());
    }

    #[test]
    fn certificate_contains_every_configured_server_name() {
        let stores = Stores::new();
        let settings = Settings::new(stores.clone(), "https://[fd00::1]:8443");
        let spec = SettingSpec {
            value: "https://Drover.example".to_owned(),
        };
        stores
            .settings
            .apply(drover_api::kinds::Setting::new("server-url", spec));
        let names = settings.certificate_names(&"0.0.0.0:8443".parse().unwrap());
        for name in ["drover.example", "fd00::1", "127.0.0.1", "::1", "localhost"] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
        assert!(!names.contains("0.0.0.0"));
    }
}
