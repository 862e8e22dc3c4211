//! One connection to a server: references and packs.

use std::collections::HashSet;
use std::io::Read;

use tokio::runtime::Runtime;

use crate::error::GitError;
use crate::limits::Limits;
use crate::location::Location;
use crate::protocol::pack::{self, PackRequest, PackStream};
use crate::protocol::references::{read_advertisement, read_references, write_request};
use crate::protocol::{Advertisement, RemoteReference};
use crate::request::{Reference, is_commit};
use crate::transport::http::{Clients, HttpTransport};
use crate::transport::ssh::SshTransport;
use crate::transport::{Deadline, Target, Transport};

/// Most repositories that a worker remembers.
const MAX_REMEMBERED: usize = 1000;

/// The state that a worker keeps between requests.
pub(crate) struct Network {
    runtime: Runtime,
    clients: Clients,
    /// Repositories that need an advertisement first: without version 2 of the protocol, or with a
    /// redirect that only the advertisement has, as on GitLab for URLs without `.git`.
    advertise_first: HashSet<String>,
}

impl Network {
    pub(crate) fn new() -> std::io::Result<Self> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only if another thread installed the same provider first.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            clients: Clients::default(),
            advertise_first: HashSet::new(),
        })
    }

    /// Opens a session. SSH connects at once, and HTTP with the first request.
    pub(crate) fn open<'a>(
        &'a mut self,
        target: &'a Target,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Session<'a>, GitError> {
        let transport: Box<dyn Transport + 'a> = match &target.location {
            Location::Http(url) => {
                let client = self.clients.get(target)?;
                Box::new(HttpTransport::new(
                    &self.runtime,
                    client,
                    target,
                    url,
                    deadline,
                ))
            }
            Location::Ssh { .. } => Box::new(SshTransport::connect(target, deadline)?),
        };
        Ok(Session {
            transport,
            target,
            advertisement: None,
            advertise_first: &mut self.advertise_first,
            max_bytes: limits.reference_bytes,
        })
    }
}

/// A connection to the repository of a target.
pub(crate) struct Session<'a> {
    transport: Box<dyn Transport + 'a>,
    target: &'a Target,
    advertisement: Option<Advertisement>,
    advertise_first: &'a mut HashSet<String>,
    max_bytes: u64,
}

impl Session<'_> {
    /// Returns the commit IDs of references. A request of version 2 over HTTP is one round trip.
    ///
    /// For a commit ID, the server's answer proves only that the credentials can read the repository.
    pub(crate) fn commits(
        &mut self,
        references: &[Reference],
    ) -> Result<Vec<Result<String, GitError>>, GitError> {
        // An invalid name fails only its own reference.
        let candidates: Vec<_> = references.iter().map(candidates).collect();
        let mut prefixes: Vec<String> = candidates
            .iter()
            .flatten()
            .flat_map(|candidates| candidates.names.clone())
            .collect();
        prefixes.sort();
        prefixes.dedup();
        // Without a prefix, the server would list all references.
        if prefixes.is_empty() {
            prefixes.push("HEAD".to_owned());
        }
        let offered = self.references(&prefixes)?;
        let repository = self.target.location.shown();
        let found = references
            .iter()
            .zip(candidates)
            .map(|(reference, candidates)| {
                candidates
                    .and_then(|candidates| commit_of(&repository, reference, &offered, &candidates))
            });
        Ok(found.collect())
    }

    /// Returns the commit ID of one reference.
    pub(crate) fn commit(&mut self, reference: &Reference) -> Result<String, GitError> {
        let found = self.commits(std::slice::from_ref(reference))?.pop();
        found.expect("one reference has one result")
    }

    fn references(&mut self, prefixes: &[String]) -> Result<Vec<RemoteReference>, GitError> {
        let repository = self.target.location.shown();
        let try_first =
            self.transport.is_stateless() && !self.advertise_first.contains(&repository);
        if self.advertisement.is_none() && try_first {
            match self.list(prefixes) {
                Ok(references) => {
                    self.advertisement = Some(Advertisement::V2);
                    return Ok(references);
                }
                Err(error) if !needs_advertisement(&error) => return Err(error),
                Err(_) => {}
            }
        }
        match self.advertised()? {
            Advertisement::V0(references) => Ok(references.clone()),
            Advertisement::V2 => self.list(prefixes),
        }
    }

    fn advertised(&mut self) -> Result<&Advertisement, GitError> {
        if self.advertisement.is_none() {
            let target = self.target;
            let mut stream = self.transport.advertisement()?;
            let advertisement = read_advertisement(&mut *stream, self.max_bytes)
                .map_err(|error| target.protocol_error(error))?;
            drop(stream);
            if self.advertise_first.len() < MAX_REMEMBERED {
                self.advertise_first.insert(target.location.shown());
            }
            self.advertisement = Some(advertisement);
        }
        Ok(self
            .advertisement
            .as_ref()
            .expect("the line above sets the value"))
    }

    fn list(&mut self, prefixes: &[String]) -> Result<Vec<RemoteReference>, GitError> {
        let target = self.target;
        let mut stream = self.transport.request(write_request(prefixes))?;
        read_references(&mut *stream, self.max_bytes).map_err(|error| target.protocol_error(error))
    }

    /// Asks for a pack, and returns its bytes.
    pub(crate) fn pack(
        &mut self,
        request: &PackRequest,
    ) -> Result<PackStream<Box<dyn Read + '_>>, GitError> {
        let target = self.target;
        let is_v2 = matches!(self.advertised()?, Advertisement::V2);
        let body = if is_v2 {
            pack::write_v2(request)
        } else {
            pack::write_v0(request)
        };
        let mut stream = self.transport.request(body)?;
        let start = if is_v2 {
            pack::skip_to_pack_v2(&mut *stream)
        } else {
            pack::skip_to_pack_v0(&mut *stream)
        };
        start.map_err(|error| match target.protocol_error(error) {
            GitError::Server { message, .. } if message.contains("not our ref") => {
                GitError::CommitNotFound {
                    repository: target.location.shown(),
                    commit: request.want.clone(),
                }
            }
            other => other,
        })?;
        Ok(PackStream::new(stream))
    }
}

/// Reports whether a server that needs an advertisement first can cause this error. A rejected
/// password is not sent twice, because servers count failed attempts.
const fn needs_advertisement(error: &GitError) -> bool {
    matches!(
        error,
        GitError::Protocol { .. }
            | GitError::Server { .. }
            | GitError::RepositoryNotFound { .. }
            | GitError::AccessDenied { .. }
            | GitError::HttpStatus {
                retry_after: None,
                ..
            }
    )
}

/// The full names that a reference can have on the server.
struct Candidates<'a> {
    /// The preferred name first.
    names: Vec<String>,
    kind: &'static str,
    name: &'a str,
}

fn candidates(reference: &Reference) -> Result<Candidates<'_>, GitError> {
    let (names, kind, name) = match reference {
        Reference::Head => (vec!["HEAD".to_owned()], "branch", "HEAD"),
        Reference::Commit(commit) => {
            if !is_commit(commit) {
                return Err(GitError::invalid(
                    "commit",
                    commit,
                    "it has 40 hexadecimal digits",
                ));
            }
            (vec!["HEAD".to_owned()], "commit", commit.as_str())
        }
        Reference::Branch(name) => {
            check_reference("branch", name)?;
            (vec![format!("refs/heads/{name}")], "branch", name.as_str())
        }
        Reference::Tag(name) => {
            check_reference("tag", name)?;
            // Fleet accepts the name of a branch as a revision.
            let names = vec![format!("refs/tags/{name}"), format!("refs/heads/{name}")];
            (names, "tag", name.as_str())
        }
        Reference::BranchOrTag(name) => {
            check_reference("branch or tag", name)?;
            let names = vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")];
            (names, "branch or tag", name.as_str())
        }
    };
    Ok(Candidates { names, kind, name })
}

fn commit_of(
    repository: &str,
    reference: &Reference,
    offered: &[RemoteReference],
    candidates: &Candidates<'_>,
) -> Result<String, GitError> {
    if let Reference::Commit(commit) = reference {
        return Ok(commit.to_ascii_lowercase());
    }
    let found = candidates
        .names
        .iter()
        .find_map(|name| offered.iter().find(|offered| offered.name == *name));
    found
        .map(|found| found.commit.to_ascii_lowercase())
        .ok_or_else(|| GitError::ReferenceNotFound {
            repository: repository.to_owned(),
            kind: candidates.kind.to_owned(),
            name: candidates.name.to_owned(),
        })
}

/// Checks the name of a branch or tag with the rules of `git-check-ref-format(1)`.
fn check_reference(kind: &str, name: &str) -> Result<(), GitError> {
    let invalid = |reason: &str| Err(GitError::invalid(kind, name, reason));
    if name.is_empty() || name.len() > 255 {
        return invalid("the name has 1 to 255 bytes");
    }
    let forbidden = |char: char| char.is_control() || " ~^:?*[\\".contains(char);
    if name.chars().any(forbidden) || ["..", "//", "@{"].iter().any(|text| name.contains(text)) {
        return invalid("the name contains a forbidden character");
    }
    let part = |part: &str| part.starts_with('.') || part.strip_suffix(".lock").is_some();
    if name == "@"
        || name.starts_with(['/', '-'])
        || name.ends_with(['/', '.'])
        || name.split('/').any(part)
    {
        return invalid("the name has a forbidden start or end");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_of_branches_are_rejected() {
        for name in [
            "", "a b", "a..b", "-a", "a.lock", ".a", "a/", "@", "a\nb", "a@{1}", "a/.b",
        ] {
            assert!(check_reference("branch", name).is_err(), "{name:?}");
        }
        for name in ["main", "release/v1.2", "a-b_c", "ünïcode"] {
            assert!(check_reference("branch", name).is_ok(), "{name:?}");
        }
    }
}
