//! Requests of a source with the credentials of its pages.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use drover_history::HistoryStore;
use drover_rows::protocol::ListProblem;
use drover_rows::table::TableError;
use http_body_util::{BodyExt as _, Limited};
use tokio::sync::Semaphore;

use crate::clusters::{Clusters, Format, problem};
use crate::lines::LongLine;
use crate::source::Source;

/// Maximum number of credentials with which the server tries one request.
const MAX_ATTEMPTS: usize = 4;
/// Time limit for a response.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// The reason why a request, a list or a watch ended.
pub(crate) enum Interruption {
    /// A new list is necessary: the resource version is too old, or dropped rows fit again.
    Expired,
    /// No page is open.
    NoPage,
    /// The request failed.
    Problem(ListProblem),
}

/// The reason of a problem with a response above the size limit.
const TOO_LARGE: &str = "TooLarge";

impl Interruption {
    /// Reports whether the response exceeds the size limit.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Problem(problem) if problem.reason == TOO_LARGE)
    }
}

impl From<ListProblem> for Interruption {
    fn from(problem: ListProblem) -> Self {
        match problem.code {
            410 => Self::Expired,
            _ => Self::Problem(problem),
        }
    }
}

impl From<TableError> for Interruption {
    fn from(error: TableError) -> Self {
        Self::Problem(problem(0, "BadResponse", error.to_string()))
    }
}

impl From<LongLine> for Interruption {
    fn from(error: LongLine) -> Self {
        Self::Problem(problem(0, "BadResponse", error.to_string()))
    }
}

/// Sends the requests of a source.
pub(crate) struct Requests {
    pub(crate) source: Arc<Source>,
    /// Receives the objects of kinds with a history.
    pub(crate) history: HistoryStore,
    clusters: Arc<dyn Clusters>,
    /// Limits the number of bodies that the server reads from the cluster at the same time.
    bodies: Arc<Semaphore>,
}

impl Requests {
    pub(crate) fn new(
        source: Arc<Source>,
        history: HistoryStore,
        clusters: Arc<dyn Clusters>,
        bodies: Arc<Semaphore>,
    ) -> Self {
        Self {
            source,
            history,
            clusters,
            bodies,
        }
    }

    /// Opens a response.
    pub(crate) async fn open(&self, path: &str, format: Format) -> Result<Body, Interruption> {
        let opened = tokio::time::timeout(TIMEOUT, self.try_open(path, format)).await;
        opened.map_err(|_| slow())?
    }

    /// Opens a response without a time limit. Tries the credentials of several pages, because the
    /// session of a page can have ended.
    async fn try_open(&self, path: &str, format: Format) -> Result<Body, Interruption> {
        let mut refused = None;
        for credential in self.source.credentials(MAX_ATTEMPTS) {
            match self.clusters.get(&credential, path, format).await {
                Err(problem) if matches!(problem.code, 401 | 403) => refused = Some(problem),
                answer => return Ok(answer?),
            }
        }
        Err(refused.map_or(Interruption::NoPage, Interruption::from))
    }

    /// Reads a complete response of at most `limit` bytes.
    pub(crate) async fn read(
        &self,
        path: &str,
        format: Format,
        limit: usize,
    ) -> Result<Bytes, Interruption> {
        let reading = async {
            // The time limit also applies while the request waits, so that a slow cluster does not
            // delay other clusters.
            let _permit = self.bodies.acquire().await;
            let body = self.try_open(path, format).await?;
            let body = Limited::new(body, limit).collect().await;
            Ok(body.map_err(|error| lost(&*error))?.to_bytes())
        };
        let read = tokio::time::timeout(TIMEOUT, reading).await;
        read.map_err(|_| slow())?
    }
}

pub(crate) fn slow() -> Interruption {
    Interruption::Problem(problem(0, "Timeout", "the cluster did not respond in time"))
}

fn lost(error: &(dyn std::error::Error + 'static)) -> Interruption {
    if error.is::<http_body_util::LengthLimitError>() {
        let message = "the response of the cluster exceeds the size limit";
        return Interruption::Problem(problem(0, TOO_LARGE, message));
    }
    let message = format!("the connection to the cluster was interrupted: {error}");
    Interruption::Problem(problem(0, "ConnectionLost", message))
}
