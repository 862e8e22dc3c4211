//! The server's settings: what is in effect, from the hub's Setting objects.

pub mod reconciler;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drover_access::setting::Setting;

use crate::Stores;
use drover_telemetry::LogFilter;

/// What is in effect now; cheap to clone.
#[derive(Clone, Debug)]
pub struct Settings {
    stores: Stores,
    /// The server's URL while the setting `server-url` is empty.
    fallback_url: Arc<str>,
    /// The filter in the program's command line, which counts more than the setting.
    log_filter: Option<Arc<str>>,
    /// A name under which the hub knows the server.
    further_name: Option<String>,
}

impl Settings {
    /// Reads from the stores; `fallback_url` is `https://host:port` of this program.
    pub fn new(stores: Stores, fallback_url: &str) -> Self {
        Self {
            stores,
            fallback_url: fallback_url.into(),
            log_filter: None,
            further_name: None,
        }
    }

    /// The same, with the log filter that this program's command line names, if it names one.
    #[must_use]
    pub fn with_log_filter(mut self, filter: Option<String>) -> Self {
        self.log_filter = filter.map(Arc::from);
        self
    }

    /// The same, with a further name for the serving certificate.
    #[must_use]
    pub fn with_certificate_name(mut self, name: Option<String>) -> Self {
        self.further_name = name;
        self
    }

    /// Checks a value as whoever puts it into effect does; the error says what to write.
    pub fn check(setting: Setting, value: &str) -> Result<(), String> {
        setting.check(value).map_err(|error| error.to_string())?;
        match setting {
            Setting::LogFilter => {
                LogFilter::check(value).map_err(|error| format!("setting log-filter: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Why a valid value is not in effect all the same.
    pub fn overruled(&self, setting: Setting) -> Option<&'static str> {
        let typed = setting == Setting::LogFilter && self.log_filter.is_some();
        typed.then_some("this server was started with --log-filter, which counts more")
    }

    /// What an administrator set; empty if nothing.
    pub fn wanted(&self, setting: Setting) -> String {
        let object = self.stores.settings.by_name(setting.name());
        object
            .map(|object| object.spec.value.clone())
            .unwrap_or_default()
    }

    /// What counts when nothing is set.
    pub fn default_value(&self, setting: Setting) -> String {
        match setting {
            Setting::ServerUrl => self.fallback_url.to_string(),
            _ => setting.default_value().to_owned(),
        }
    }

    /// What counts now.
    pub fn in_effect(&self, setting: Setting) -> String {
        self.judge(setting, &self.wanted(setting))
    }

    /// What would count if `wanted` were set.
    pub fn judge(&self, setting: Setting, wanted: &str) -> String {
        if let (Setting::LogFilter, Some(filter)) = (setting, &self.log_filter) {
            return filter.to_string();
        }
        let valid = Self::check(setting, wanted).is_ok();
        match setting.in_effect(if valid { wanted } else { "" }) {
            "" => self.default_value(setting),
            value => value.to_owned(),
        }
    }

    /// A duration in effect.
    pub fn ttl(&self, setting: Setting) -> Duration {
        self.stores.duration(setting)
    }

    /// `https://host:port` at which agents and people reach the server.
    pub fn server_url(&self) -> String {
        self.in_effect(Setting::ServerUrl)
    }

    /// Names and addresses that the serving certificate must hold.
    pub fn certificate_names(&self, listen: &std::net::SocketAddr) -> BTreeSet<String> {
        let mut names: BTreeSet<String> =
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !listen.ip().is_unspecified() {
            names.insert(listen.ip().to_string());
        }
        names.extend(self.further_name.clone());
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
    fn an_invalid_or_empty_value_leaves_the_default_in_effect() {
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
    fn the_kind_takes_the_names_of_all_settings_and_no_other() {
        let definitions = drover_api::kinds::definitions();
        let text = serde_json::to_string(&definitions).unwrap();
        let names = Setting::ALL.map(|setting| format!("'{}'", setting.name()));
        let rule = format!("self.metadata.name in [{}]", names.join(", "));
        assert!(
            text.contains(&rule),
            "write this rule into the kind: {rule}"
        );
    }

    #[test]
    fn a_log_filter_is_what_the_logs_can_take_and_the_command_line_counts_more() {
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
        assert_eq!(settings.judge(Setting::LogFilter, "a=loud"), "info");
        assert_eq!(settings.judge(Setting::LogFilter, "debug"), "debug");
        let typed = settings.with_log_filter(Some("warn".to_owned()));
        assert_eq!(typed.judge(Setting::LogFilter, "debug"), "warn");
        assert!(typed.overruled(Setting::LogFilter).is_some());
        assert!(typed.overruled(Setting::ServerUrl).is_none());
    }

    #[test]
    fn the_certificate_holds_every_name_the_server_is_reached_by() {
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
