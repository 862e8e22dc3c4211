//! Commits of repositories. GitRepos with the same repository and credential share a request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drover_git::{Fetcher, GitError, Reference, Source};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Time after which an unused reference is removed.
const UNUSED: Duration = Duration::from_hours(1);

/// The last answer for one reference.
struct Answer {
    asked: Instant,
    answered: Option<(Instant, Result<String, GitError>)>,
}

type Answers = Arc<tokio::sync::Mutex<HashMap<Reference, Answer>>>;

/// The answers of all repositories, by the digest of the address and the credential.
#[derive(Clone)]
pub(super) struct Polls {
    fetcher: Arc<Fetcher>,
    answers: Arc<Mutex<HashMap<[u8; 32], Answers>>>,
}

impl Polls {
    pub(super) fn new(fetcher: Arc<Fetcher>) -> Self {
        Self {
            fetcher,
            answers: Arc::default(),
        }
    }

    /// Returns the commit of a reference. An answer that is younger than `max_age` is sufficient. One
    /// request asks for all references of the repository.
    pub(super) async fn commit(
        &self,
        source: &Source,
        reference: &Reference,
        max_age: Duration,
    ) -> Result<String, GitError> {
        if let Reference::Commit(commit) = reference {
            return Ok(commit.clone());
        }
        let answers = Arc::clone(self.answers.lock().entry(source.digest()).or_default());
        let mut answers = answers.lock().await;
        let now = Instant::now();
        answers.retain(|_, answer| now - answer.asked < UNUSED);
        let entry = answers.entry(reference.clone()).or_insert(Answer {
            asked: now,
            answered: None,
        });
        entry.asked = now;
        if let Some((at, answer)) = &entry.answered
            && now - *at < max_age
        {
            return answer.clone();
        }
        let references: Vec<Reference> = answers.keys().cloned().collect();
        let commits = self.fetcher.resolve(source, &references).await;
        let answered = Instant::now();
        let commits = commits.map(|commits| references.iter().cloned().zip(commits).collect());
        let commits: Result<HashMap<_, _>, _> = commits;
        for (name, answer) in &mut *answers {
            let commit = commits.as_ref().map(|commits| commits.get(name).cloned());
            let commit = commit.map_err(Clone::clone).transpose();
            answer.answered = commit.map(|commit| (answered, commit.and_then(|commit| commit)));
        }
        commits?.remove(reference).unwrap_or_else(|| {
            Err(GitError::ReferenceNotFound {
                repository: source.url.clone(),
                kind: "reference".to_owned(),
                name: format!("{reference:?}"),
            })
        })
    }
}
