//! The options that select the server to call.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use drover_api::shell;
use reqwest::Url;

/// The server to call, the credentials, and the timeout.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    /// Context (stored login) to use [default: the current context, see `drover context use`]
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true,
        global = true
    )]
    pub context: Option<String>,
    /// Server to call without a stored login; the command reads the token from --token-file or
    /// $DROVER_TOKEN
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_SERVER",
        hide_env_values = true,
        global = true
    )]
    pub server: Option<ServerUrl>,
    /// File with the token for --server [default: the token in $DROVER_TOKEN]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_TOKEN_FILE",
        hide_env_values = true,
        global = true
    )]
    pub token_file: Option<PathBuf>,
    /// PEM file with the certificate authorities that the command trusts for --server
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CA_FILE",
        hide_env_values = true,
        global = true
    )]
    pub ca_file: Option<PathBuf>,
    /// File that stores the logins [default: $XDG_CONFIG_HOME/drover/config.yaml]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true,
        global = true
    )]
    pub config: Option<PathBuf>,
    /// Timeout of each request to the server
    #[arg(long, value_name = "DURATION", default_value = "30s", global = true)]
    pub request_timeout: DurationArg,
}

/// Address of a server: `https`, a host and an optional port, without a user, path, query or
/// fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Url);

/// The error of parsing a [`ServerUrl`].
#[derive(Debug, thiserror::Error)]
pub enum ServerUrlError {
    /// The text is not a URL.
    #[error("cannot use {text:?} as a server address: {source}; write https://HOST:PORT")]
    Parse {
        /// The rejected text.
        text: String,
        /// Error of the URL parser.
        source: <Url as FromStr>::Err,
    },
    /// The scheme is not `https`. Without `https`, tokens and passwords are not encrypted.
    #[error(
        "cannot use the scheme {scheme}: Drover supports only https; write https://HOST:PORT",
        scheme = .0
    )]
    Scheme(String),
    /// The URL has more than scheme, host and port.
    #[error(
        "a server address has the form https://HOST:PORT; remove the {url_part}",
        url_part = .0
    )]
    Excess(&'static str),
}

impl ServerUrl {
    /// Returns the URL of a path on this server. `path` starts with `/`.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(path);
        url
    }

    /// Returns the shell command that logs in to this server. The address is quoted, because a host
    /// can contain characters with a meaning in a shell.
    pub fn login_command(&self) -> String {
        format!("drover login {}", shell::word(&self.to_string()))
    }

    /// Returns `host:port`, including a default port. This text is the default name of a context.
    pub fn authority(&self) -> String {
        format!(
            "{}:{}",
            self.0.host_str().unwrap_or_default(),
            self.0.port_or_known_default().unwrap_or(443)
        )
    }
}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl FromStr for ServerUrl {
    type Err = ServerUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("https://{text}")
        };
        let url = Url::parse(&full).map_err(|source| ServerUrlError::Parse {
            text: text.to_owned(),
            source,
        })?;
        if url.scheme() != "https" {
            return Err(ServerUrlError::Scheme(url.scheme().to_owned()));
        }
        let excess = [
            (url.path() != "/", "path"),
            (url.query().is_some(), "query"),
            (url.fragment().is_some(), "fragment"),
            (
                !url.username().is_empty() || url.password().is_some(),
                "user name and password",
            ),
        ];
        match excess.into_iter().find(|(there, _)| *there) {
            Some((_, what)) => Err(ServerUrlError::Excess(what)),
            None => Ok(Self(url)),
        }
    }
}

impl serde::Serialize for ServerUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ServerUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A duration such as `90s`, `15m`, `12h`, `30d` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationArg(pub Duration);

/// The error of parsing a [`DurationArg`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "cannot use {text:?} as a duration; write for example 90s, 15m, 12h, 30d or 1h30m",
    text = .0
)]
pub struct DurationArgError(String);

impl FromStr for DurationArg {
    type Err = DurationArgError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || DurationArgError(text.to_owned());
        let mut total = 0_u64;
        let mut number: Option<u64> = None;
        for c in text.trim().chars() {
            if let Some(digit) = c.to_digit(10) {
                number = number
                    .unwrap_or(0)
                    .checked_mul(10)
                    .and_then(|n| n.checked_add(u64::from(digit)));
                if number.is_none() {
                    return Err(wrong());
                }
                continue;
            }
            let unit = match c {
                's' => 1,
                'm' => 60,
                'h' => 3_600,
                'd' => 86_400,
                _ => return Err(wrong()),
            };
            total = number
                .take()
                .and_then(|n| n.checked_mul(unit))
                .and_then(|n| n.checked_add(total))
                .ok_or_else(wrong)?;
        }
        if number.is_some() || total == 0 {
            return Err(wrong());
        }
        Ok(Self(Duration::from_secs(total)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_address_without_scheme_receives_scheme_https() {
        for (typed, kept, authority) in [
            ("https://a.example", "https://a.example", "a.example:443"),
            ("a.example:8443", "https://a.example:8443", "a.example:8443"),
            (
                "localhost:8443/",
                "https://localhost:8443",
                "localhost:8443",
            ),
            ("https://[::1]:8443", "https://[::1]:8443", "[::1]:8443"),
        ] {
            let url: ServerUrl = typed.parse().unwrap();
            assert_eq!(url.to_string(), kept, "{typed}");
            assert_eq!(url.authority(), authority, "{typed}");
        }
    }

    #[test]
    fn invalid_server_addresses_are_rejected_with_advice() {
        for (typed, part) in [
            ("http://a.example", "only https"),
            ("ftp://a.example", "only https"),
            ("https://a.example/k8s", "remove the path"),
            ("https://a.example/?x=1", "remove the query"),
            ("https://a.example/#x", "remove the fragment"),
            ("https://me:pw@a.example", "remove the user name"),
            ("https://", "https://HOST:PORT"),
            ("", "https://HOST:PORT"),
        ] {
            let error = typed.parse::<ServerUrl>().unwrap_err().to_string();
            assert!(error.contains(part), "{typed}: {error}");
        }
    }

    #[test]
    fn duration_arguments_are_parsed() {
        for (text, seconds) in [
            ("90s", 90),
            ("15m", 900),
            ("12h", 43_200),
            ("30d", 2_592_000),
            ("1h30m", 5_400),
        ] {
            assert_eq!(
                text.parse(),
                Ok(DurationArg(Duration::from_secs(seconds))),
                "{text}"
            );
        }
        for text in [
            "",
            "5",
            "h",
            "0s",
            "-5m",
            "1w",
            "1.5h",
            "99999999999999999999d",
            "9999999999999999d",
        ] {
            assert!(text.parse::<DurationArg>().is_err(), "{text}");
        }
    }
}
