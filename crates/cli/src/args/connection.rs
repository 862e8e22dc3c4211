//! Which server a command talks to.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use drover_api::shell;
use reqwest::Url;

/// Which server a command talks to, as whom, and how patiently.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    /// Remembered server to talk to; the one chosen by `drover context use` if left out
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true,
        global = true
    )]
    pub context: Option<String>,
    /// Server to talk to with the token in --token-file or $DROVER_TOKEN, without a login
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_SERVER",
        hide_env_values = true,
        global = true
    )]
    pub server: Option<ServerUrl>,
    /// File that holds the token for --server; $DROVER_TOKEN if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_TOKEN_FILE",
        hide_env_values = true,
        global = true
    )]
    pub token_file: Option<PathBuf>,
    /// Authorities that may have signed the certificate of --server, PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CA_FILE",
        hide_env_values = true,
        global = true
    )]
    pub ca_file: Option<PathBuf>,
    /// Where logins are kept; $XDG_CONFIG_HOME/drover/config.yaml if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true,
        global = true
    )]
    pub config: Option<PathBuf>,
    /// How long to wait for an answer of the server
    #[arg(long, value_name = "DURATION", default_value = "30s", global = true)]
    pub request_timeout: DurationArg,
}

/// Address of a server: `https`, a host, perhaps a port, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Url);

/// Why a text is no server's address.
#[derive(Debug, thiserror::Error)]
pub enum ServerUrlError {
    /// It is no URL at all.
    #[error("{text:?} is not an address ({source}); write it as https://HOST:PORT")]
    Parse {
        /// What was given.
        text: String,
        /// Why it is not.
        source: <Url as FromStr>::Err,
    },
    /// Tokens and passwords would travel in the clear.
    #[error("a server is reached by https only, not by {0}; write https://HOST:PORT")]
    Scheme(String),
    /// There is something beside host and port.
    #[error("a server's address is only https://HOST:PORT; leave out the {0}")]
    Excess(&'static str),
}

impl ServerUrl {
    /// The address with the given path under it; `path` starts with `/`.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(path);
        url
    }

    /// The command that logs in there, for a shell: a host may hold characters that a shell reads.
    pub fn login_command(&self) -> String {
        format!("drover login {}", shell::word(&self.to_string()))
    }

    /// `host:port`, always with the port: the default name of a context.
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

/// A length of time as people type it: `90s`, `15m`, `12h`, `30d`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationArg(pub Duration);

/// Why a text is no length of time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no length of time; write for example 90s, 15m, 12h, 30d or 1h30m")]
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
    fn an_address_gets_its_scheme_and_loses_nothing() {
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
    fn an_address_with_more_than_host_and_port_is_refused_with_the_fix() {
        for (typed, part) in [
            ("http://a.example", "https only"),
            ("ftp://a.example", "https only"),
            ("https://a.example/k8s", "leave out the path"),
            ("https://a.example/?x=1", "leave out the query"),
            ("https://a.example/#x", "leave out the fragment"),
            ("https://me:pw@a.example", "leave out the user name"),
            ("https://", "https://HOST:PORT"),
            ("", "https://HOST:PORT"),
        ] {
            let error = typed.parse::<ServerUrl>().unwrap_err().to_string();
            assert!(error.contains(part), "{typed}: {error}");
        }
    }

    #[test]
    fn lengths_of_time_are_read_as_typed() {
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
