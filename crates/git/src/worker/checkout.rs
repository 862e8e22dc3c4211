//! The files of a commit and of its submodules.

use std::path::Path;

use super::CheckoutSink;
use crate::error::GitError;
use crate::limits::Limits;
use crate::modules;
use crate::path::{Selection, join};
use crate::protocol::pack::PackRequest;
use crate::request::{Reference, Reply};
use crate::session::Network;
use crate::store::Store;
use crate::transport::{Deadline, Target};
use crate::tree::{Gitlink, Remaining, TreeReader, Usage};

/// Most submodules within submodules, as in Fleet.
const MAX_NESTED_SUBMODULES: usize = 10;

/// The settings of a request for files.
pub(super) struct Settings<'a> {
    pub(super) paths: &'a [String],
    pub(super) cache_dir: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) deadline: Deadline,
}

/// The state of a request for files.
struct Checkout<'a> {
    network: &'a mut Network,
    settings: Settings<'a>,
    selection: Selection,
    usage: Usage,
    received: u64,
    sink: &'a mut dyn CheckoutSink,
}

/// Sends the selected files to the sink, and returns the reply that ends the request.
pub(super) fn run(
    network: &mut Network,
    target: &Target,
    reference: &Reference,
    settings: Settings<'_>,
    sink: &mut dyn CheckoutSink,
) -> Result<Reply, GitError> {
    let selection = Selection::parse(settings.paths, settings.limits)?;
    let mut checkout = Checkout {
        network,
        settings,
        selection,
        usage: Usage::default(),
        received: 0,
        sink,
    };
    let commit = checkout.repository(target, reference, "", 0)?;
    Ok(Reply::Done {
        commit,
        received_bytes: checkout.received,
    })
}

impl Checkout<'_> {
    fn repository(
        &mut self,
        target: &Target,
        reference: &Reference,
        prefix: &str,
        nested: usize,
    ) -> Result<String, GitError> {
        let (commit, remaining) = self.own_files(target, reference, prefix)?;
        let modules = remaining.modules.unwrap_or_default();
        let urls = modules::parse(&String::from_utf8_lossy(&modules));
        for link in remaining.submodules {
            // git ignores a submodule that `.gitmodules` does not describe.
            let Some(url) = urls.get(&link.path) else {
                continue;
            };
            self.submodule(target, url, &link, prefix, nested)
                .map_err(|source| GitError::Submodule {
                    path: join(prefix, &link.path),
                    source: Box::new(source),
                })?;
        }
        Ok(commit)
    }

    fn submodule(
        &mut self,
        parent: &Target,
        url: &str,
        link: &Gitlink,
        prefix: &str,
        nested: usize,
    ) -> Result<(), GitError> {
        if nested >= MAX_NESTED_SUBMODULES {
            return Err(GitError::limit("nested submodules", MAX_NESTED_SUBMODULES));
        }
        let target = parent.submodule(url)?;
        let reference = Reference::Commit(link.commit.clone());
        let prefix = join(prefix, &link.path);
        self.repository(&target, &reference, &prefix, nested + 1)?;
        Ok(())
    }

    /// Sends the files of one repository without its submodules.
    fn own_files(
        &mut self,
        target: &Target,
        reference: &Reference,
        prefix: &str,
    ) -> Result<(String, Remaining), GitError> {
        let (limits, deadline) = (self.settings.limits, self.settings.deadline);
        let store = Store::open(self.settings.cache_dir, &target.location.shown(), deadline)?;
        let commit = self.receive(&store, target, reference)?;
        let repository = store.repository()?;
        let reader = TreeReader::new(
            &repository,
            prefix,
            &self.selection,
            (limits, deadline),
            &mut self.usage,
            self.sink,
        )?;
        let read = reader.read(&commit);
        if matches!(read, Err(GitError::Cache { .. })) {
            // The next request fetches the repository again.
            store.reset()?;
        }
        Ok((commit, read?))
    }

    /// Ensures that the store contains the commit of a reference. The server checks the credentials
    /// in any case, also if another GitRepo has already stored the commit.
    fn receive(
        &mut self,
        store: &Store,
        target: &Target,
        reference: &Reference,
    ) -> Result<String, GitError> {
        let (limits, deadline) = (self.settings.limits, self.settings.deadline);
        let mut session = self.network.open(target, limits, deadline)?;
        let commit = session.commit(reference)?;
        if store.contains(&commit)? {
            return Ok(commit);
        }
        let (sink, received) = (&mut *self.sink, &mut self.received);
        let mut receive = |session: &mut crate::session::Session<'_>, have: Option<String>| {
            let request = PackRequest {
                want: commit.clone(),
                have,
            };
            let mut pack = session.pack(&request)?;
            let before = *received;
            *received += store.receive(
                &mut pack,
                limits,
                deadline,
                &mut |bytes| sink.progress(before + bytes),
                &|error| target.protocol_error(error),
            )?;
            Ok(())
        };
        let tip = store.tip();
        let has_tip = tip.is_some();
        match receive(&mut session, tip) {
            // The server can have removed the commit that the store has.
            Err(GitError::Server { .. } | GitError::Protocol { .. }) if has_tip => {
                drop(session);
                store.reset()?;
                let mut session = self.network.open(target, limits, deadline)?;
                session.commit(reference)?;
                receive(&mut session, None)?;
            }
            result => result?,
        }
        if !store.contains(&commit)? {
            return Err(GitError::Protocol {
                repository: target.location.shown(),
                reason: "the pack does not contain the commit".to_owned(),
            });
        }
        store.set_tip(&commit)?;
        Ok(commit)
    }
}
