//! The credentials and settings of a caller for the charts of several folders.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_gitops::fleet_yaml::{PatternError, matches, may_send_credential};
use secrecy::SecretString;
use serde::Deserialize;

use crate::{Access, ChartRequest, Credential};

/// The format of an entry in the file with the settings by path, as in Fleet.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PathSettings {
    username: String,
    password: String,
    /// PEM in base64.
    ca_bundle: String,
    insecure_skip_verify: bool,
    #[serde(rename = "basicHTTP")]
    basic_http: bool,
    /// PEM in base64.
    ssh_private_key: String,
}

/// The settings for the charts of a folder.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The credential and the TLS settings.
    pub access: Access,
    /// The SSH key for charts in git repositories.
    pub ssh: Option<SshKey>,
}

/// An SSH key for charts in git repositories.
#[derive(Clone, Debug)]
pub struct SshKey {
    /// The private key, in the format of OpenSSH or PEM.
    pub private_key: SecretString,
    /// Lines in the format of OpenSSH. Empty for the host keys of all repositories.
    pub known_hosts: String,
}

impl SshKey {
    /// Returns a key. Returns `None` for an empty text.
    #[must_use]
    pub fn new(private_key: String, known_hosts: String) -> Option<Self> {
        (!private_key.is_empty()).then(|| Self {
            private_key: SecretString::from(private_key),
            known_hosts,
        })
    }
}

/// The file with the settings by path is not valid. The error of the parser could contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings by path are not valid")]
pub struct InvalidSettings;

/// The reason why the settings cannot be applied to a chart.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The regular expression is not valid.
    #[error("the regular expression is not valid: {0}")]
    Regex(String),
    /// A pattern of a path is not valid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// The settings of a caller for all charts.
#[derive(Clone, Debug, Default)]
pub struct ChartAccess {
    /// The credential is sent only to addresses that the expression matches from the start.
    pub regex: String,
    /// Settings for folders without own settings.
    pub all: Settings,
    /// Settings by path or pattern, in the order of the paths.
    pub paths: BTreeMap<String, Settings>,
}

impl ChartAccess {
    /// Returns the settings for the charts of a folder.
    ///
    /// # Errors
    ///
    /// A pattern is not valid.
    pub fn settings(&self, folder: &str) -> Result<&Settings, SettingsError> {
        if let Some(found) = self.paths.get(folder) {
            return Ok(found);
        }
        for (pattern, settings) in &self.paths {
            if matches(pattern, folder)? {
                return Ok(settings);
            }
        }
        Ok(&self.all)
    }

    /// Reports whether the credential may be sent for a chart.
    ///
    /// # Errors
    ///
    /// The regular expression is not valid.
    pub fn may_send(&self, repo: &str, chart: &str) -> Result<bool, SettingsError> {
        may_send_credential(&self.regex, repo, chart)
            .map_err(|error| SettingsError::Regex(error.to_string()))
    }

    /// Returns the request for a chart of a bundle. `folder` is the folder of the bundle.
    ///
    /// # Errors
    ///
    /// The regular expression or a pattern is not valid.
    pub fn request(
        &self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<ChartRequest, SettingsError> {
        let may_send = self.may_send(repo, chart)?;
        let mut access = self.settings(folder)?.access.clone();
        access.credential = access.credential.filter(|_| may_send);
        Ok(ChartRequest {
            repo: repo.to_owned(),
            chart: chart.to_owned(),
            version: version.to_owned(),
            access,
            ..ChartRequest::default()
        })
    }
}

/// Parses the settings by path. `all` are the settings of all paths.
///
/// # Errors
///
/// The text is not valid.
pub fn settings_by_path(
    text: &str,
    all: &Settings,
) -> Result<BTreeMap<String, Settings>, InvalidSettings> {
    let entries: BTreeMap<String, PathSettings> =
        serde_saphyr::from_str(text).map_err(|_| InvalidSettings)?;
    let settings = |(path, entry): (String, PathSettings)| {
        let authorities = decoded(&entry.ca_bundle)?;
        let ssh = SshKey::new(decoded(&entry.ssh_private_key)?, String::new());
        let all = &all.access;
        let is_complete = !entry.username.is_empty() && !entry.password.is_empty();
        let credential = is_complete.then(|| Credential {
            username: entry.username,
            password: SecretString::from(entry.password),
        });
        let access = Access {
            credential,
            authorities: if authorities.is_empty() {
                all.authorities.clone()
            } else {
                authorities
            },
            insecure_skip_tls_verify: all.insecure_skip_tls_verify || entry.insecure_skip_verify,
            plain_http: entry.basic_http || all.plain_http,
        };
        Ok((path.trim_matches('/').to_owned(), Settings { access, ssh }))
    };
    entries.into_iter().map(settings).collect()
}

fn decoded(text: &str) -> Result<String, InvalidSettings> {
    let bytes = STANDARD.decode(text).map_err(|_| InvalidSettings)?;
    String::from_utf8(bytes).map_err(|_| InvalidSettings)
}
