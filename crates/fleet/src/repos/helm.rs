//! The settings and credentials of a GitRepo for Helm repositories.

use std::collections::BTreeMap;

use drover_api::fleet::GitRepo;
use drover_charts::{
    ChartAccess, ChartRequest, EntryError, InvalidSettings, Settings, SettingsError, SshKey,
    settings_by_path,
};
use drover_git::{Auth, Source};
use drover_gitops::fleet_yaml::{GitChart, PatternError};
use drover_hub::{HubError, call};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

/// Entry of the Secret `spec.helmSecretNameForPaths`.
const PATHS: &str = "secrets-path.yaml";

/// The reason why a GitRepo has no usable settings for Helm repositories.
#[derive(Debug, Error)]
pub(crate) enum HelmError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("{field}: the Secret {name} does not exist in the namespace of the GitRepo")]
    NoSecret { field: &'static str, name: String },
    #[error("{field}: the entry {entry} of the Secret {name} is missing or not valid")]
    Entry {
        field: &'static str,
        name: String,
        entry: &'static str,
    },
    #[error("spec.helmRepoURLRegex: {0}")]
    Regex(String),
    #[error("spec.helmSecretNameForPaths: {0}")]
    Pattern(PatternError),
    #[error("spec.caBundle: the value is not PEM text")]
    CaBundle,
}

impl From<SettingsError> for HelmError {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::Regex(reason) => Self::Regex(reason),
            SettingsError::Pattern(error) => Self::Pattern(error),
        }
    }
}

/// The settings of a GitRepo for Helm repositories.
#[derive(Debug)]
pub(super) struct HelmAccess(ChartAccess);

impl HelmAccess {
    /// Reads the settings and Secrets of a GitRepo.
    pub(super) async fn read(client: &Client, repo: &GitRepo) -> Result<Self, HelmError> {
        let spec = &repo.spec;
        let mut all = Settings::default();
        all.access.insecure_skip_tls_verify = spec.insecure_skip_tls_verify;
        if let Some(bundle) = &spec.ca_bundle {
            all.access.authorities =
                String::from_utf8(bundle.0.clone()).map_err(|_| HelmError::CaBundle)?;
        }
        let secrets =
            Api::<Secret>::namespaced(client.clone(), &repo.namespace().unwrap_or_default());
        let secret = async |field, name: &str| {
            let found = call("read a Helm credential", secrets.get_opt(name)).await?;
            found
                .map(|secret| secret.data.unwrap_or_default())
                .ok_or_else(|| HelmError::NoSecret {
                    field,
                    name: name.to_owned(),
                })
        };
        let mut paths = BTreeMap::new();
        if !spec.helm_secret_name_for_paths.is_empty() {
            let name = &spec.helm_secret_name_for_paths;
            let data = secret("spec.helmSecretNameForPaths", name).await?;
            paths = by_path(name, &data, &all)?;
        } else if !spec.helm_secret_name.is_empty() {
            let name = &spec.helm_secret_name;
            let data = secret("spec.helmSecretName", name).await?;
            all = with_secret(all, name, &data)?;
        }
        Ok(Self(ChartAccess {
            regex: spec.helm_repo_url_regex.clone(),
            all,
            paths,
        }))
    }

    /// Returns the request for a chart of a bundle's folder.
    pub(super) fn request(
        &self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<ChartRequest, HelmError> {
        Ok(self.0.request(folder, repo, chart, version)?)
    }

    /// Returns the repository of a chart of a bundle's folder. A credential in the address has priority.
    pub(super) fn git_source(&self, folder: &str, chart: &GitChart) -> Result<Source, HelmError> {
        let settings = self.0.settings(folder)?;
        let mut may_send = false;
        for notation in chart.notations() {
            may_send |= self.0.may_send(&notation, "")?;
        }
        let access = &settings.access;
        let mut source = Source::anonymous(chart.url());
        // The regular expression matches only the repository of the chart.
        source.is_auth_limited = true;
        source.insecure_skip_tls_verify = access.insecure_skip_tls_verify;
        source.ca_bundle = (!access.authorities.is_empty()).then(|| access.authorities.clone());
        if !may_send || chart.has_credential() {
            return Ok(source);
        }
        if let (true, Some(ssh)) = (chart.is_ssh(), &settings.ssh) {
            source.known_hosts.clone_from(&ssh.known_hosts);
            source.auth = Auth::Ssh {
                private_key: ssh.private_key.clone(),
            };
        } else if let (false, Some(credential)) = (chart.is_ssh(), &access.credential) {
            source.auth = Auth::Basic {
                username: credential.username.clone(),
                password: credential.password.clone(),
            };
        }
        Ok(source)
    }

    /// Returns the settings of a GitRepo with one Secret.
    #[cfg(test)]
    pub(super) fn for_test(regex: &str, entries: &[(&str, &str)]) -> Self {
        let data = tests::data(entries);
        Self(ChartAccess {
            regex: regex.to_owned(),
            all: with_secret(Settings::default(), "helm", &data).expect("the entries are complete"),
            paths: BTreeMap::new(),
        })
    }
}

/// Adds the Secret `spec.helmSecretName`.
fn with_secret(
    all: Settings,
    name: &str,
    data: &BTreeMap<String, ByteString>,
) -> Result<Settings, HelmError> {
    let wrong = |entry| invalid("spec.helmSecretName", name, entry);
    let bytes = |entry: &str| data.get(entry).map(|bytes| &*bytes.0);
    let access = all.access.with_secret(bytes);
    let text = |entry: &'static str| match bytes(entry).map(std::str::from_utf8) {
        None => Ok(String::new()),
        Some(text) => text.map(str::to_owned).map_err(|_| wrong(entry)),
    };
    Ok(Settings {
        access: access.map_err(|EntryError(entry)| wrong(entry))?,
        ssh: SshKey::new(text("ssh-privatekey")?, text("known_hosts")?),
    })
}

/// Reads the Secret `spec.helmSecretNameForPaths`.
fn by_path(
    name: &str,
    data: &BTreeMap<String, ByteString>,
    all: &Settings,
) -> Result<BTreeMap<String, Settings>, HelmError> {
    let wrong = || invalid("spec.helmSecretNameForPaths", name, PATHS);
    let bytes = data.get(PATHS).ok_or_else(wrong)?;
    let text = std::str::from_utf8(&bytes.0).map_err(|_| wrong())?;
    settings_by_path(text, all).map_err(|InvalidSettings| wrong())
}

fn invalid(field: &'static str, name: &str, entry: &'static str) -> HelmError {
    HelmError::Entry {
        field,
        name: name.to_owned(),
        entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn data(entries: &[(&str, &str)]) -> BTreeMap<String, ByteString> {
        let entries = entries.iter();
        let data = entries.map(|(key, text)| ((*key).to_owned(), ByteString((*text).into())));
        data.collect()
    }

    fn username(access: &HelmAccess, folder: &str, repo: &str) -> Option<String> {
        let request = access.request(folder, repo, "chart", "1").unwrap();
        request
            .access
            .credential
            .map(|credential| credential.username)
    }

    #[test]
    fn credential_is_sent_only_to_repositories_that_match_the_expression() {
        let secret = data(&[("username", "u"), ("password", "p"), ("cacerts", "PEM")]);
        let all = with_secret(Settings::default(), "helm", &secret).unwrap();
        let mut access = HelmAccess(ChartAccess {
            regex: "https://charts\\.example/".to_owned(),
            all,
            paths: BTreeMap::new(),
        });
        let found = username(&access, "a", "https://charts.example/x");
        assert_eq!(found.as_deref(), Some("u"));
        for other in [
            "https://evil.example/https://charts.example/",
            "https://charts.example.evil/",
        ] {
            assert_eq!(username(&access, "a", other), None, "{other}");
            let request = access.request("a", other, "c", "").unwrap();
            assert_eq!(request.access.authorities, "PEM");
        }
        access.0.regex.clear();
        assert_eq!(username(&access, "a", "https://charts.example/x"), None);
        access.0.regex = "(".to_owned();
        assert!(access.request("a", "r", "c", "").is_err());
    }

    #[test]
    fn credential_is_sent_only_to_git_repositories_that_match_the_expression() {
        let entries = [
            ("username", "u"),
            ("password", "p"),
            ("ssh-privatekey", "key"),
            ("known_hosts", "git.example ssh-ed25519 A"),
        ];
        let sent = |regex: &str, chart: &str| {
            let chart = GitChart::parse(chart).unwrap().unwrap();
            let source = HelmAccess::for_test(regex, &entries).git_source("a", &chart);
            let source = source.unwrap();
            assert!(source.is_auth_limited);
            match source.auth {
                Auth::None => "none",
                Auth::Basic { .. } => "password",
                Auth::Ssh { .. } if source.known_hosts.contains("git.example") => "key",
                _ => "other",
            }
        };
        for (regex, chart, expected) in [
            (
                "https://git\\.example/",
                "git::https://git.example/a.git//b",
                "password",
            ),
            (
                "git::https://git\\.example/",
                "git::https://git.example/a.git",
                "password",
            ),
            (
                "https://git\\.example/",
                "git::https://git.example@evil/a.git",
                "none",
            ),
            (
                "https://git\\.example/a/",
                "git::https://git.example/a/%2e%2e/b.git",
                "none",
            ),
            (
                "https://git\\.example/",
                "git::ssh://git@git.example/a.git",
                "none",
            ),
            ("ssh://git@git\\.example/", "git@git.example:a.git", "key"),
            (
                "git@git\\.example:",
                "git::ssh://git@git.example/a.git",
                "key",
            ),
            ("", "git::https://git.example/a.git", "none"),
            // The credential in the address has priority.
            ("https://", "git::https://t@git.example/a.git", "none"),
        ] {
            assert_eq!(sent(regex, chart), expected, "{regex} {chart}");
        }
    }

    #[test]
    fn credentials_by_path_apply_to_the_path_or_the_first_matching_pattern() {
        let text = "apps/web: {username: web, password: p, basicHTTP: true}\n\
                    apps/*: {username: apps, password: p, caBundle: UEVN}\n\
                    half: {username: half}\n\
                    key: {sshPrivateKey: a2V5}\n";
        let paths = by_path("s", &data(&[(PATHS, text)]), &Settings::default()).unwrap();
        let access = HelmAccess(ChartAccess {
            regex: ".*".to_owned(),
            all: Settings::default(),
            paths,
        });
        for (folder, expected) in [
            ("apps/web", Some("web")),
            ("apps/db", Some("apps")),
            ("apps/db/x", None),
            ("half", None),
            ("", None),
        ] {
            let found = username(&access, folder, "https://charts.example");
            assert_eq!(found.as_deref(), expected, "{folder}");
        }
        assert!(
            access
                .request("apps/web", "r", "c", "")
                .unwrap()
                .access
                .plain_http
        );
        let request = access.request("apps/db", "r", "c", "").unwrap();
        assert_eq!(request.access.authorities, "PEM");
        let chart = GitChart::parse("git@git.example:a").unwrap().unwrap();
        let auth = |folder| access.git_source(folder, &chart).unwrap().auth;
        assert!(matches!(auth("key"), Auth::Ssh { .. }) && matches!(auth("half"), Auth::None));
        for wrong in ["apps: 1", "[", "a: {caBundle: '!'}"] {
            let wrong = by_path("s", &data(&[(PATHS, wrong)]), &Settings::default());
            assert!(wrong.is_err());
        }
    }
}
