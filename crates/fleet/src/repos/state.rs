//! The state of repositories between two reconciliations.
//!
//! The status on the hub contains the commit, so a restarted server reads a repository only after a
//! change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::GitRepo;
use drover_reconcile::error_chain;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::fetch::FetchError;
use crate::mirror::Key;

/// A failed poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) message: String,
    /// Time of the next poll.
    pub(super) next: Timestamp,
    /// True if the repository was read, but its files are not valid.
    pub(super) is_content: bool,
}

impl Failure {
    pub(super) fn new(error: &FetchError, delay: Duration) -> Self {
        Self {
            message: error_chain(error),
            next: Timestamp::now()
                .checked_add(delay)
                .unwrap_or(Timestamp::MAX),
            is_content: error.is_content(),
        }
    }
}

/// The state of one repository.
#[derive(Clone, Debug, Default)]
pub(super) struct RepoState {
    /// Commit of the written bundles.
    pub(super) commit: Option<String>,
    /// Commit of the last poll.
    pub(super) polled: Option<String>,
    pub(super) polled_at: Option<Timestamp>,
    /// Generation of the spec of the written bundles.
    pub(super) generation: Option<i64>,
    /// Service account of the written bundles, which can be the default of the namespace's limits.
    service_account: Option<String>,
    /// The reason why the limits of the namespace refuse the GitRepo.
    pub(super) refusal: Option<String>,
    /// True while the repository is read.
    pub(super) is_reading: bool,
    pub(super) failure: Option<Failure>,
    failures: u32,
    /// True if a webhook or a user requested a poll.
    is_requested: bool,
    /// The request of a user that precedes no poll yet.
    request: Option<String>,
    /// The request of a user that precedes the current poll.
    current_request: Option<String>,
    /// The last answered request of a user.
    pub(super) answer: Option<String>,
    /// Time before which the git server permits no request.
    not_before: Option<Timestamp>,
}

impl RepoState {
    /// Answers the request of the current poll.
    fn end_request(&mut self) {
        if let Some(answered) = self.current_request.take() {
            self.answer = Some(answered);
        }
    }
}

/// The states of all repositories. Clones share the states.
#[derive(Clone, Default)]
pub(crate) struct States(Arc<Mutex<BTreeMap<Key, RepoState>>>);

impl States {
    pub(super) fn get(&self, key: &Key) -> RepoState {
        self.0.lock().get(key).cloned().unwrap_or_default()
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }

    fn update(&self, key: &Key, update: impl FnOnce(&mut RepoState)) {
        update(self.0.lock().entry(key.clone()).or_default());
    }

    /// Makes the next poll ask the git server. Reports whether the git server permits a poll now.
    pub(crate) fn request(&self, key: &Key) -> bool {
        let mut states = self.0.lock();
        let state = states.entry(key.clone()).or_default();
        state.is_requested = true;
        state.not_before.is_none_or(|time| time <= Timestamp::now())
    }

    /// Stores the request of a user. Reports whether the git server permits a poll now.
    pub(crate) fn request_sync(&self, key: &Key, request: String) -> bool {
        self.update(key, |state| state.request = Some(request));
        self.request(key)
    }

    /// Stores the time before which the git server permits no request.
    pub(super) fn wait(&self, key: &Key, wait: Option<Duration>) {
        let time = wait.and_then(|wait| Timestamp::now().checked_add(wait).ok());
        self.update(key, |state| state.not_before = time);
    }

    /// Returns the age up to which an answer of the git server is sufficient.
    pub(super) fn max_age(&self, key: &Key, interval: Duration) -> Duration {
        let mut states = self.0.lock();
        let state = states.entry(key.clone()).or_default();
        let is_first = state.polled.is_none();
        if let Some(request) = state.request.take() {
            state.current_request = Some(request);
        }
        if std::mem::take(&mut state.is_requested) || is_first {
            Duration::ZERO
        } else {
            interval / 2
        }
    }

    pub(super) fn polled(&self, key: &Key, commit: &str) {
        self.update(key, |state| {
            state.polled = Some(commit.to_owned());
            state.polled_at = Some(Timestamp::now());
        });
    }

    /// Reports whether the bundles do not correspond to the commit and the spec. `has_default` is true if
    /// the service account is the default of the namespace's limits.
    pub(super) fn must_read(
        &self,
        key: &Key,
        repo: &GitRepo,
        commit: &str,
        has_default: bool,
    ) -> bool {
        let state = self.get(key);
        let status = repo.status.as_ref();
        let known = state
            .commit
            .as_deref()
            .or_else(|| status.map(|status| &*status.commit));
        let generation = state
            .generation
            .or_else(|| status.map(|it| it.observed_generation));
        let account = &repo.spec.service_account;
        // The default can have changed while no server ran.
        let is_other_account = state
            .service_account
            .map_or(has_default, |it| it != *account);
        let has_failed = state.failure.is_some_and(|failure| failure.is_content);
        known != Some(commit)
            || generation != repo.metadata.generation
            || has_failed
            || is_other_account
    }

    pub(super) fn reading(&self, key: &Key) {
        self.update(key, |state| state.is_reading = true);
    }

    pub(super) fn read(&self, key: &Key, repo: &GitRepo, commit: &str) {
        self.update(key, |state| {
            state.commit = Some(commit.to_owned());
            state.generation = repo.metadata.generation;
            state.service_account = Some(repo.spec.service_account.clone());
        });
    }

    pub(super) fn permitted(&self, key: &Key) {
        self.update(key, |state| state.refusal = None);
    }

    pub(super) fn refused(&self, key: &Key, refusal: String) {
        self.update(key, |state| state.refusal = Some(refusal));
    }

    pub(super) fn succeeded(&self, key: &Key) {
        self.update(key, |state| {
            state.is_reading = false;
            state.failure = None;
            state.failures = 0;
            state.end_request();
        });
    }

    /// Returns the number of failures with the current failure.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        self.get(key).failures.saturating_add(1)
    }

    pub(super) fn failed(&self, key: &Key, failure: Failure) {
        self.update(key, |state| {
            state.is_reading = false;
            state.failures = state.failures.saturating_add(1);
            // Without a response of the git server, the next poll answers the request.
            if failure.is_content {
                state.end_request();
            }
            state.failure = Some(failure);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_a_webhook_waits_for_the_time_that_the_git_server_named() {
        let (states, key) = (States::default(), Key::new("fleet-default", "web"));
        assert!(states.request(&key));
        states.wait(&key, Some(Duration::from_mins(1)));
        assert!(!states.request(&key));
        // The next poll asks the git server.
        assert_eq!(states.max_age(&key, Duration::from_mins(1)), Duration::ZERO);
        states.wait(&key, None);
        assert!(states.request(&key));
    }

    #[test]
    fn request_of_a_user_is_answered_by_the_next_poll_with_a_response() {
        let (states, key) = (States::default(), Key::new("fleet-default", "web"));
        let minute = Duration::from_mins(1);
        let answer = || states.get(&key).answer;
        let failure = |is_content| Failure {
            message: "no".to_owned(),
            next: Timestamp::now(),
            is_content,
        };
        assert!(states.request_sync(&key, "1".to_owned()));
        states.succeeded(&key);
        assert_eq!(answer(), None, "the poll started before the request");
        assert_eq!(states.max_age(&key, minute), Duration::ZERO);
        states.failed(&key, failure(false));
        assert_eq!(answer(), None, "the git server did not respond");
        // Another request before the next poll.
        assert!(states.request_sync(&key, "2".to_owned()));
        assert_eq!(states.max_age(&key, minute), Duration::ZERO);
        // This request is newer than the poll.
        assert!(states.request_sync(&key, "3".to_owned()));
        states.failed(&key, failure(true));
        assert_eq!(answer().as_deref(), Some("2"));
        assert_eq!(states.max_age(&key, minute), Duration::ZERO);
        states.succeeded(&key);
        assert_eq!(answer().as_deref(), Some("3"));
    }
}
