//! Compares the URLs of repositories.

/// The host of Azure DevOps Services.
const AZURE: &str = "dev.azure.com";

/// Reports whether the repository URL of an event and the URL of a `GitRepo` name the same
/// repository.
///
/// The comparison ignores the scheme, the user, the port, a suffix `.git`, a trailing slash and, as
/// in Fleet, the case of the host and of the path. A URL of Azure DevOps matches its SSH form. A
/// false match is harmless, because an event only starts a poll.
#[must_use]
pub fn matches(event_url: &str, repository_url: &str) -> bool {
    let event = Location::parse(event_url);
    event.is_some() && event == Location::parse(repository_url)
}

/// The normalized host and path of a repository.
#[derive(Debug, PartialEq, Eq)]
struct Location {
    host: String,
    path: Vec<String>,
}

impl Location {
    fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        let (authority, path) = if let Some((_, rest)) = url.split_once("://") {
            rest.split_once('/')?
        } else {
            // The form of scp: `user@host:path`.
            url.split_once(':')?
        };
        let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let host = without_port(host).to_lowercase();
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let path: Vec<String> = segments
            .map(|segment| decode(segment).to_lowercase())
            .collect();
        if host.is_empty() || path.is_empty() {
            return None;
        }
        Some(Self { host, path }.azure())
    }

    /// Converts the URLs of Azure DevOps to one form: `dev.azure.com/organization/project/name`.
    fn azure(mut self) -> Self {
        if matches!(
            self.host.as_str(),
            "ssh.dev.azure.com" | "vs-ssh.visualstudio.com"
        ) {
            AZURE.clone_into(&mut self.host);
            if self.path.first().is_some_and(|first| is_version(first)) {
                self.path.remove(0);
            }
        } else if let Some(organization) = self.host.strip_suffix(".visualstudio.com") {
            self.path.insert(0, organization.to_owned());
            AZURE.clone_into(&mut self.host);
            if self.path.get(1).is_some_and(|it| it == "defaultcollection") {
                self.path.remove(1);
            }
        }
        if let Some(at) = self.path.iter().position(|segment| segment == "_git") {
            self.path.remove(at);
            // The short form without a project means the project with the name of the repository.
            if self.host == AZURE && self.path.len() == 2 {
                self.path.push(self.path[1].clone());
            }
        }
        self
    }
}

/// Reports whether a segment of a path is a version such as `v3`.
fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v');
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

/// Decodes `%20` and other escapes. Invalid escapes stay.
fn decode(segment: &str) -> String {
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                rest = &after[2..];
            }
            None => out.push(*byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
