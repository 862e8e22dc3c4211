//! The names, defaults and valid values of the server's settings.

use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

/// A known setting of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// URL at which agents and users reach the server.
    ServerUrl,
    /// Registry of the agent's image.
    AgentImageRegistry,
    /// Full name of the agent's image. Overrides the registry and the version.
    AgentImage,
    /// `imagePullPolicy` of the agent's pods.
    AgentImagePullPolicy,
    /// Default lifetime of a token. Applies if the token request contains no lifetime.
    TokenDefaultTtl,
    /// Maximum lifetime of all tokens.
    TokenMaxTtl,
    /// Default lifetime of a kubeconfig token. Applies if the token request contains no lifetime.
    KubeconfigTokenTtl,
    /// Lifetime of a login session.
    SessionTtl,
    /// Time after which an idle browser session ends.
    SessionIdleTtl,
    /// Log filter, such as `info,drover_proxy=debug`.
    LogFilter,
    /// Interval at which the server refreshes users' identities at identity providers.
    GroupsRefresh,
    /// Duration for which a provider's last response stays valid while the provider is unreachable.
    ProviderGrace,
}

/// Reason to reject a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("setting {name}: {problem}")]
pub struct SettingError {
    name: &'static str,
    problem: &'static str,
}

impl Setting {
    /// All settings, sorted by name.
    pub const ALL: [Self; 12] = [
        Self::AgentImage,
        Self::AgentImagePullPolicy,
        Self::AgentImageRegistry,
        Self::GroupsRefresh,
        Self::KubeconfigTokenTtl,
        Self::LogFilter,
        Self::ProviderGrace,
        Self::ServerUrl,
        Self::SessionIdleTtl,
        Self::SessionTtl,
        Self::TokenDefaultTtl,
        Self::TokenMaxTtl,
    ];

    /// Returns the name of the Setting object.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerUrl => "server-url",
            Self::AgentImageRegistry => "agent-image-registry",
            Self::AgentImage => "agent-image",
            Self::AgentImagePullPolicy => "agent-image-pull-policy",
            Self::TokenDefaultTtl => "token-default-ttl",
            Self::TokenMaxTtl => "token-max-ttl",
            Self::KubeconfigTokenTtl => "kubeconfig-token-ttl",
            Self::SessionTtl => "session-ttl",
            Self::SessionIdleTtl => "session-idle-ttl",
            Self::LogFilter => "log-filter",
            Self::GroupsRefresh => "groups-refresh",
            Self::ProviderGrace => "provider-grace",
        }
    }

    /// Parses the name of a Setting object. Returns `None` for an unknown name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// Returns a description of the setting's effect and format for users.
    pub const fn description(self) -> &'static str {
        match self {
            Self::ServerUrl => {
                "https URL at which agents and users reach the server; empty: the --server-url \
                of the program"
            }
            Self::AgentImageRegistry => {
                "registry and path from which clusters pull the agent, for example registry.example/drover; empty: the image must be loaded on the nodes"
            }
            Self::AgentImage => {
                "full agent image with tag or digest; replaces the registry and the server's \
                version"
            }
            Self::AgentImagePullPolicy => {
                "imagePullPolicy of the agent: IfNotPresent, Always or Never"
            }
            Self::TokenDefaultTtl => {
                "lifetime of a token without a requested lifetime, such as 30d, 12h, 90m, 60s"
            }
            Self::TokenMaxTtl => "maximum lifetime of a token, such as 90d",
            Self::KubeconfigTokenTtl => {
                "lifetime of a kubeconfig token without a requested lifetime, such as 30d"
            }
            Self::SessionTtl => "lifetime of a login, such as 16h",
            Self::SessionIdleTtl => {
                "lifetime of a browser session without an open page, such as 1h; precise to some \
                minutes"
            }
            Self::GroupsRefresh => {
                "interval at which the server refreshes users and groups from identity \
                providers: 5m to 6h, such as 1h"
            }
            Self::ProviderGrace => {
                "time for which an identity provider's last response stays valid while the \
                provider does not answer: 12h to 30d, such as 24h"
            }
            Self::LogFilter => "filter of log lines, such as info or info,drover_proxy=debug",
        }
    }

    /// Returns the value that is in effect if the setting is unset or invalid.
    pub const fn default_value(self) -> &'static str {
        match self {
            Self::ServerUrl | Self::AgentImageRegistry | Self::AgentImage => "",
            Self::AgentImagePullPolicy => "IfNotPresent",
            Self::TokenDefaultTtl | Self::KubeconfigTokenTtl => "30d",
            Self::TokenMaxTtl => "90d",
            Self::SessionTtl => "16h",
            Self::SessionIdleTtl | Self::GroupsRefresh => "1h",
            Self::LogFilter => "info",
            Self::ProviderGrace => "24h",
        }
    }

    /// Reports whether only administrators may write the setting. These settings affect images in
    /// clusters, the lifetime of credentials and groups, or the content of logs.
    ///
    /// The other settings are default lifetimes of tokens. A user may request any lifetime up to
    /// `token-max-ttl` regardless of these defaults.
    pub const fn needs_administrator(self) -> bool {
        match self {
            Self::ServerUrl
            | Self::AgentImageRegistry
            | Self::AgentImage
            | Self::AgentImagePullPolicy
            | Self::TokenMaxTtl
            | Self::SessionTtl
            | Self::SessionIdleTtl
            | Self::LogFilter
            | Self::GroupsRefresh
            | Self::ProviderGrace => true,
            Self::TokenDefaultTtl | Self::KubeconfigTokenTtl => false,
        }
    }

    /// Checks a value. An empty value is valid and restores the default.
    pub fn check(self, value: &str) -> Result<(), SettingError> {
        let error = |problem| {
            Err(SettingError {
                name: self.name(),
                problem,
            })
        };
        if value.is_empty() {
            return Ok(());
        }
        match self {
            Self::ServerUrl if !is_https_origin(value) => error(
                "must be https://HOST or https://HOST:PORT, with a port from 1 to 65535 and no path",
            ),
            Self::AgentImageRegistry | Self::AgentImage if !is_image_part(value) => {
                error("must be an image reference: visible characters, no spaces, no scheme")
            }
            Self::AgentImagePullPolicy if !["IfNotPresent", "Always", "Never"].contains(&value) => {
                error("must be IfNotPresent, Always or Never")
            }
            Self::TokenDefaultTtl
            | Self::TokenMaxTtl
            | Self::KubeconfigTokenTtl
            | Self::SessionTtl
            | Self::SessionIdleTtl
                if !is_within(value, MIN_TTL..=MAX_TTL) =>
            {
                error("must be a number and d, h, m or s, from 60s to 3650d")
            }
            Self::GroupsRefresh if !is_within(value, GROUPS_REFRESH) => {
                error("must be a number and h, m or s, from 5m to 6h")
            }
            Self::ProviderGrace if !is_within(value, PROVIDER_GRACE) => {
                error("must be a number and d, h, m or s, from 12h to 30d")
            }
            _ => Ok(()),
        }
    }

    /// Returns the effective value: `desired` if `desired` is valid and not empty, and the default
    /// in all other cases.
    pub fn in_effect(self, desired: &str) -> &str {
        if desired.is_empty() || self.check(desired).is_err() {
            self.default_value()
        } else {
            desired
        }
    }
}

/// Minimum lifetime of a token.
pub const MIN_TTL: Duration = Duration::from_mins(1);
/// Maximum value of the settings that are token lifetimes.
pub const MAX_TTL: Duration = Duration::from_hours(3650 * 24);

/// Range of valid refresh intervals. The maximum is half of the minimum [`PROVIDER_GRACE`], so that
/// users do not lose access after a single failed refresh.
const GROUPS_REFRESH: RangeInclusive<Duration> = Duration::from_mins(5)..=Duration::from_hours(6);
/// Range of valid values of [`PROVIDER_GRACE`].
const PROVIDER_GRACE: RangeInclusive<Duration> =
    Duration::from_hours(12)..=Duration::from_hours(30 * 24);

fn is_within(value: &str, bounds: RangeInclusive<Duration>) -> bool {
    parse_ttl(value).is_some_and(|duration| bounds.contains(&duration))
}

/// Parses a duration such as `30d`, `12h`, `90m` or `60s`.
pub fn parse_ttl(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return None,
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(seconds)
        .map(Duration::from_secs)
}

fn is_https_origin(text: &str) -> bool {
    // The URI parser silently drops a fragment.
    !text.contains('#')
        && text.parse::<http::Uri>().is_ok_and(|uri| {
            uri.scheme_str() == Some("https")
                && uri.authority().is_some_and(|authority| {
                    is_host(authority.host()) && is_bare_or_has_port(authority)
                })
                && uri.path_and_query().is_none_or(|p| p.as_str() == "/")
        })
        && !text.ends_with('/')
}

/// Reports whether a text is a host name or an address, and contains no special characters of
/// shells or YAML. Users paste commands that contain the URL into a shell.
fn is_host(host: &str) -> bool {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match inner {
        Some(address) => address.parse::<core::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && !host.starts_with('-')
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        }
    }
}

/// Reports whether the port of a host is valid, or absent. The crate `http` accepts any text as
/// port.
fn is_bare_or_has_port(authority: &http::uri::Authority) -> bool {
    let Some(rest) = authority.as_str().strip_prefix(authority.host()) else {
        // The authority starts with user information.
        return false;
    };
    rest.is_empty()
        || rest.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|b| b.is_ascii_digit())
                && port.parse::<u16>().is_ok_and(|port| port != 0)
        })
}

fn is_image_part(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"._-/:@".contains(&b))
        && !text.contains("://")
        && !text.starts_with(['/', '-', ':', '@'])
        && !text.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_invalid_setting_value_contains_the_allowed_values() {
        use Setting as S;
        for (setting, value, good) in [
            (S::ServerUrl, "https://drover.example", true),
            (S::ServerUrl, "https://10.0.0.1:8443", true),
            (S::ServerUrl, "https://[::1]:8443", true),
            (S::ServerUrl, "http://drover.example", false),
            (S::ServerUrl, "https://drover.example/x", false),
            (S::ServerUrl, "https://drover.example/", false),
            (S::ServerUrl, "https://a@drover.example", false),
            (S::ServerUrl, "https://drover.example#", false),
            (S::ServerUrl, "https://drover.example#';id;'", false),
            (S::ServerUrl, "https://drover.example?", false),
            (S::ServerUrl, "drover.example", false),
            (S::ServerUrl, "https://$(id).example", false),
            (S::ServerUrl, "https://a';id;'.example", false),
            (S::ServerUrl, "https://a&b", false),
            (S::ServerUrl, "https://-x.example", false),
            (S::ServerUrl, "https://[::g]", false),
            (S::ServerUrl, "https://a.example:", false),
            (S::ServerUrl, "https://a.example:65535", true),
            (S::ServerUrl, "https://a.example:65536", false),
            (S::ServerUrl, "https://a.example:0", false),
            (S::ServerUrl, "https://a.example:+443", false),
            (S::ServerUrl, "https://a.example:-1", false),
            (S::ServerUrl, "https://a.example:443x", false),
            (S::ServerUrl, "https://a.example:';id;'", false),
            (S::ServerUrl, "https://a.example:$(id)", false),
            (S::ServerUrl, "https://[::1]:';id;'", false),
            (S::ServerUrl, "https://a:1@a.example:1", false),
            (S::TokenMaxTtl, "90d", true),
            (S::TokenMaxTtl, "0s", false),
            (S::TokenMaxTtl, "-1d", false),
            (S::TokenMaxTtl, "+1d", false),
            (S::TokenMaxTtl, "90", false),
            (S::TokenMaxTtl, "d", false),
            (S::TokenMaxTtl, "99999999999999999999d", false),
            (S::TokenMaxTtl, "18446744073709551615d", false),
            (S::TokenMaxTtl, "1µ", false),
            (S::AgentImagePullPolicy, "Never", true),
            (S::AgentImagePullPolicy, "never", false),
            (
                S::AgentImage,
                "registry.example:5000/drover/agent@sha256:00",
                true,
            ),
            (S::AgentImage, "https://registry.example/agent", false),
            (S::AgentImageRegistry, "a b", false),
            (S::GroupsRefresh, "5m", true),
            (S::GroupsRefresh, "7h", false),
            (S::ProviderGrace, "1h", false),
            (S::ProviderGrace, "30d", true),
            // The log filter is parsed by the server's own check.
            (S::LogFilter, "anything", true),
        ] {
            assert_eq!(setting.check(value).is_ok(), good, "{setting:?} {value:?}");
        }
    }

    #[test]
    fn setting_defaults_are_valid_and_replace_invalid_values() {
        for setting in Setting::ALL {
            assert_eq!(setting.check(setting.default_value()), Ok(()));
            assert_eq!(setting.in_effect(""), setting.default_value());
            assert_eq!(Setting::parse(setting.name()), Some(setting));
        }
        assert_eq!(Setting::TokenMaxTtl.in_effect("forever"), "90d");
        assert_eq!(Setting::TokenMaxTtl.in_effect("1d"), "1d");
    }
}
