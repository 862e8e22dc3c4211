//! Addresses of charts in git repositories, in the notation of Fleet and of `go-getter`.

use std::fmt;

use thiserror::Error;
use url::{Url, form_urlencoded};

use super::tree::join;

/// Hosts whose repositories have an address without scheme: `github.com/OWNER/NAME`.
pub(super) const HOSTS: [&str; 3] = ["github.com/", "gitlab.com/", "bitbucket.org/"];
/// Prefixes that select git.
pub(super) const FORCED: [&str; 2] = ["git::", "ssh::"];
/// Schemes that only git has.
const GIT_SCHEMES: [&str; 3] = ["ssh://", "git+ssh://", "git://"];
/// Maximum length of an address, in bytes.
const MAX_BYTES: usize = 2048;

/// The reason why the address of a chart in a git repository is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "helm.chart: {0}; write git::https://HOST/REPOSITORY.git//FOLDER?ref=BRANCH, or git::ssh:// and a \
     Secret in spec.helmSecretName for a private repository"
)]
pub struct GitChartError(String);

/// The address of a chart in a git repository. The `Debug` output contains no password.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitChart {
    url: Url,
    /// Folder of the chart in the repository. Empty for the root.
    pub folder: String,
    /// Name of a branch or tag, or a commit ID. Empty for the branch that `HEAD` names.
    pub reference: String,
}

impl fmt::Debug for GitChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GitChart")
            .field(&self.address())
            .field(&self.folder)
            .field(&self.reference)
            .finish()
    }
}

impl GitChart {
    /// Parses the field `helm.chart`. Returns `None` for the address of another type, or a path.
    ///
    /// # Errors
    ///
    /// The address selects git and is not valid.
    pub fn parse(chart: &str) -> Option<Result<Self, GitChartError>> {
        let forced = FORCED.iter().find_map(|it| chart.strip_prefix(it));
        let is_git = forced.is_some()
            || GIT_SCHEMES.iter().any(|it| chart.starts_with(it))
            || HOSTS.iter().any(|it| chart.starts_with(it))
            || scp(chart).is_some();
        is_git.then(|| Self::parse_git(forced.unwrap_or(chart)))
    }

    fn parse_git(text: &str) -> Result<Self, GitChartError> {
        if text.len() > MAX_BYTES || text.chars().any(|it| it.is_control() || " \\".contains(it)) {
            let reason = "the address is too long, or contains spaces or control characters";
            return Err(GitChartError(reason.to_owned()));
        }
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let start = path.find("://").map_or(0, |at| at + 3);
        let (base, folder) = match path[start..].find("//") {
            Some(at) => (&path[..start + at], &path[start + at + 2..]),
            None => (path, ""),
        };
        let (base, inner) = full(base)?;
        let folder = join(&inner, folder).map_err(|error| GitChartError(error.to_string()))?;
        if folder.contains(['*', '?', '[', '#']) {
            return Err(GitChartError(format!(
                "the folder {folder:?} contains a pattern"
            )));
        }
        let url = Url::parse(&base).map_err(|error| GitChartError(error.to_string()))?;
        if !matches!(url.scheme(), "https" | "http" | "ssh" | "git+ssh") {
            let reason = format!("the scheme {:?} is not supported", url.scheme());
            return Err(GitChartError(reason));
        }
        if url.host_str().is_none_or(str::is_empty) || url.fragment().is_some() {
            let reason = "the address has no host, or contains a fragment";
            return Err(GitChartError(reason.to_owned()));
        }
        Ok(Self {
            url,
            folder,
            reference: reference(query)?,
        })
    }

    /// Returns the URL of the repository for git, which can contain a password.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Reports whether git uses SSH.
    #[must_use]
    pub fn is_ssh(&self) -> bool {
        matches!(self.url.scheme(), "ssh" | "git+ssh")
    }

    /// Reports whether the URL contains a password or a token.
    #[must_use]
    pub fn has_credential(&self) -> bool {
        !self.is_ssh() && (!self.url.username().is_empty() || self.url.password().is_some())
    }

    /// Returns the URL of the repository without a password. The parser of the git worker reads the same
    /// host and path from the URL.
    #[must_use]
    pub fn address(&self) -> String {
        let mut url = self.url.clone();
        // Fails only for a URL without a host, which the parser rejects.
        let _ = url.set_password(None);
        if !self.is_ssh() {
            let _ = url.set_username("");
        }
        url.to_string()
    }

    /// Returns the notations of the address that an expression can match: the URL, the URL with the prefix
    /// `git::`, and `user@host:path` for SSH.
    #[must_use]
    pub fn notations(&self) -> Vec<String> {
        let address = self.address();
        let mut notations = vec![format!("git::{address}")];
        if let (true, None, Some(host)) = (self.is_ssh(), self.url.port(), self.url.host_str()) {
            let user = Some(self.url.username()).filter(|user| !user.is_empty());
            let (user, path) = (user.unwrap_or("git"), self.url.path());
            notations.push(format!("{user}@{host}:{}", path.trim_start_matches('/')));
        }
        notations.insert(0, address);
        notations
    }
}

/// Returns the URL of a repository without a scheme, and the folder in a short address.
fn full(base: &str) -> Result<(String, String), GitChartError> {
    if base.contains("://") {
        return Ok((base.to_owned(), String::new()));
    }
    if let Some(host) = HOSTS.iter().find(|host| base.starts_with(*host)) {
        let mut parts = base[host.len()..].splitn(3, '/');
        let (Some(owner), Some(name)) = (parts.next(), parts.next().filter(|it| !it.is_empty()))
        else {
            return Err(GitChartError(format!(
                "the address {base:?} has no repository"
            )));
        };
        let name = name.strip_suffix(".git").unwrap_or(name);
        let folder = parts.next().unwrap_or_default().to_owned();
        return Ok((format!("https://{host}{owner}/{name}.git"), folder));
    }
    match scp(base) {
        Some((authority, path)) => Ok((format!("ssh://{authority}/{path}"), String::new())),
        None => Err(GitChartError("the address has no scheme".to_owned())),
    }
}

/// Returns the user with the host, and the path, of an address `user@host:path`.
fn scp(text: &str) -> Option<(&str, &str)> {
    let (authority, path) = text.split_once(':')?;
    let (user, host) = authority.split_once('@')?;
    let path = path.trim_start_matches('/');
    let is_scp = !text.contains("://")
        && !user.is_empty()
        && !host.is_empty()
        && !path.is_empty()
        && !path.starts_with(':');
    is_scp.then_some((authority, path))
}

/// Returns the branch, tag or commit in the query of an address.
fn reference(query: &str) -> Result<String, GitChartError> {
    let mut reference = String::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "ref" => reference = value.into_owned(),
            // The worker always fetches one commit.
            "depth" => {}
            "sshkey" => {
                let reason = "an address must not contain a private key; move the key into the entry \
                              ssh-privatekey of a Secret";
                return Err(GitChartError(reason.to_owned()));
            }
            other => {
                let other: String = other.chars().take(50).collect();
                return Err(GitChartError(format!(
                    "the parameter {other:?} is not supported"
                )));
            }
        }
    }
    Ok(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(chart: &str) -> (String, String, String) {
        let found = GitChart::parse(chart).unwrap().unwrap();
        (found.address(), found.folder.clone(), found.reference)
    }

    #[test]
    fn notations_of_fleet_name_a_repository_a_folder_and_a_reference() {
        for (chart, address, folder, reference) in [
            (
                "git::https://h/r.git//a/b?ref=v1",
                "https://h/r.git",
                "a/b",
                "v1",
            ),
            (
                "git::https://h:8443/g/r?ref=a%2Fb&depth=1",
                "https://h:8443/g/r",
                "",
                "a/b",
            ),
            ("git::http://h/r//./a//b/", "http://h/r", "a/b", ""),
            (
                "git::ssh://me@h:2222/r.git//a",
                "ssh://me@h:2222/r.git",
                "a",
                "",
            ),
            ("ssh::ssh://git@h/r.git", "ssh://git@h/r.git", "", ""),
            ("git@h:o/r.git//a?ref=x", "ssh://git@h/o/r.git", "a", "x"),
            ("git::git@h:o/r.git//a", "ssh://git@h/o/r.git", "a", ""),
            (
                "github.com/o/r//a?ref=x",
                "https://github.com/o/r.git",
                "a",
                "x",
            ),
            (
                "gitlab.com/o/r.git/a/b//c",
                "https://gitlab.com/o/r.git",
                "a/b/c",
                "",
            ),
            (
                "git::bitbucket.org/o/r",
                "https://bitbucket.org/o/r.git",
                "",
                "",
            ),
        ] {
            let expected = (address.to_owned(), folder.to_owned(), reference.to_owned());
            assert_eq!(parsed(chart), expected, "{chart}");
        }
        for other in [
            "",
            "chart",
            "./a:b",
            "https://h/a.tgz",
            "oci://h/a",
            "http::https://h/a",
        ] {
            assert!(GitChart::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn addresses_that_are_not_valid_are_errors_with_the_field() {
        for (chart, reason) in [
            ("git::file:///etc", "scheme"),
            ("git::/etc", "scheme"),
            ("git://h/r", "scheme"),
            ("github.com/o", "repository"),
            ("git::https://h/r//../a", "leaves"),
            ("git::https://h/r//a*", "pattern"),
            ("git::https://h/r#a", "fragment"),
            ("git::https://h/r?sshkey=c2VjcmV0", "ssh-privatekey"),
            ("git::https://h/r?archive=zip", "archive"),
            ("git::https://h\\@evil/r", "control"),
        ] {
            let error = GitChart::parse(chart).unwrap().unwrap_err().to_string();
            assert!(
                error.contains("helm.chart: ") && error.contains(reason),
                "{chart}: {error}"
            );
            assert!(!error.contains("c2VjcmV0"));
        }
    }

    #[test]
    fn password_in_an_address_is_not_shown() {
        let chart = GitChart::parse("git::https://u:secret@h/r")
            .unwrap()
            .unwrap();
        assert!(chart.has_credential() && chart.url().contains("secret"));
        let shown = format!("{chart:?} {:?}", chart.notations());
        assert!(
            !shown.contains("secret") && !shown.contains("u@"),
            "{shown}"
        );
    }

    #[test]
    fn expressions_can_match_each_notation_of_the_address() {
        let notations = |chart| GitChart::parse(chart).unwrap().unwrap().notations();
        let expected = ["https://h/r.git", "git::https://h/r.git"];
        assert_eq!(
            notations("git::https://u:p@H/a/../r.git//a?ref=x"),
            expected
        );
        let expected = ["ssh://git@h/o/r", "git::ssh://git@h/o/r", "git@h:o/r"];
        assert_eq!(notations("git@h:o/r"), expected);
        assert_eq!(notations("git::ssh://h:2222/r").len(), 2);
    }
}
