//! Runs the program `drover-render`, which renders charts and kustomizations.
//!
//! The program starts on demand, serves many requests, and stops when it is idle. It starts with an
//! empty environment and an empty home folder. A request that exceeds its timeout, or whose future
//! is dropped, ends the program; the next request starts it again. Results are cached by the digest
//! of the request, unless the chart read objects of the cluster.

mod cache;
mod process;
mod protocol;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drover_render_process::Process;
use futures::future::BoxFuture;
use parking_lot::Mutex as SyncMutex;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::AbortHandle;

use cache::Cache;
pub use drover_render_process::ProcessError;
pub use protocol::{LookupRequest, RenderRequest, Rendered, RenderedHook, RenderedObject};
use protocol::{Request, Response};

use crate::source::PatchRequest;

/// Time that the program gets in addition to the timeout of a request, to report the timeout.
const GRACE: Duration = Duration::from_secs(2);

/// Settings of the renderer.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Path of the program.
    pub program: PathBuf,
    /// Timeout of a request.
    pub timeout: Duration,
    /// Time without a request after which the program stops.
    pub idle: Duration,
    /// Soft limit of the program's memory, in bytes.
    pub memory_bytes: u64,
    /// Maximum size of the cached results, in bytes.
    pub cache_bytes: usize,
    /// Environment variables of the program.
    pub environment: Vec<(String, String)>,
}

impl Settings {
    /// Creates settings with the defaults for an agent.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            timeout: Duration::from_mins(1),
            idle: Duration::from_secs(30),
            memory_bytes: 256 << 20,
            cache_bytes: 4 << 20,
            environment: Vec::new(),
        }
    }
}

/// The reason why the renderer has no result.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The program cannot be started, or it ended during the request.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The program exceeded the timeout.
    #[error("cannot render: no result within {seconds} s", seconds = .0.as_secs())]
    Timeout(Duration),
    /// The chart, the kustomization or the request is wrong.
    #[error("{0}")]
    Rejected(String),
}

/// Answers the template function `lookup`.
pub trait Lookup: Send + Sync {
    /// Returns the object, the list of objects if the name is empty, or an empty map for a missing
    /// object.
    fn lookup<'a>(&'a self, request: &'a LookupRequest) -> BoxFuture<'a, Result<Value, String>>;
}

/// A lookup without a cluster. No object exists.
#[derive(Clone, Copy, Debug)]
pub struct NoLookup;

impl Lookup for NoLookup {
    fn lookup<'a>(&'a self, _: &'a LookupRequest) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async { Ok(Value::Object(serde_json::Map::new())) })
    }
}

/// Renders charts and kustomizations.
pub struct Renderer {
    settings: Settings,
    process: Arc<Mutex<Option<Process>>>,
    idle_timer: SyncMutex<Option<AbortHandle>>,
    cache: SyncMutex<Cache>,
}

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Renderer {
    /// Creates a renderer. The program starts with the first request.
    pub fn new(settings: Settings) -> Self {
        Self {
            cache: SyncMutex::new(Cache::new(settings.cache_bytes)),
            settings,
            process: Arc::default(),
            idle_timer: SyncMutex::default(),
        }
    }

    /// Renders a chart or a kustomization.
    pub async fn render(
        &self,
        request: &RenderRequest,
        lookup: &dyn Lookup,
    ) -> Result<Arc<Rendered>, RenderError> {
        let digest = request.digest();
        if let Some(rendered) = self.cache.lock().get(&digest) {
            return Ok(rendered);
        }
        let request = Request {
            render: Some(request),
            ..self.request()
        };
        let response = self.send(&request, lookup).await?;
        let rendered = Arc::new(response.rendered.ok_or_else(no_result)?);
        if !rendered.used_lookup {
            self.cache.lock().insert(digest, Arc::clone(&rendered));
        }
        Ok(rendered)
    }

    /// Applies the patch of an overlay.
    pub async fn patch(&self, request: &PatchRequest) -> Result<Value, RenderError> {
        let patch = protocol::Patch {
            object: &request.object,
            patch: &request.patch,
        };
        let request = Request {
            patch: Some(patch),
            ..self.request()
        };
        let response = self.send(&request, &NoLookup).await?;
        response.patched.ok_or_else(no_result)
    }

    /// Returns the process ID of the running program.
    pub async fn process_id(&self) -> Option<u32> {
        self.process.lock().await.as_ref().and_then(Process::id)
    }

    fn request(&self) -> Request<'static> {
        let timeout_ms = u64::try_from(self.settings.timeout.as_millis()).unwrap_or(u64::MAX);
        Request {
            timeout_ms,
            ..Request::default()
        }
    }

    async fn send(
        &self,
        request: &Request<'_>,
        lookup: &dyn Lookup,
    ) -> Result<Response, RenderError> {
        let mut slot = self.process.lock().await;
        // The slot is empty during the request. If the future is dropped in the middle of a frame,
        // the process ends with it.
        let running = slot.take().and_then(Process::if_running);
        let reused = match running {
            // The kernel can end the program while it is idle, so a failure is not the request's fault.
            Some(mut process) => match self.exchange(&mut process, request, lookup).await {
                Ok(response) => Some((process, response)),
                Err(RenderError::Process(_)) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let (process, response) = if let Some(reused) = reused {
            reused
        } else {
            let mut process = process::start(&self.settings)?;
            let response = self.exchange(&mut process, request, lookup).await?;
            (process, response)
        };
        if !response.exiting {
            *slot = Some(process);
            self.restart_idle_timer();
        }
        drop(slot);
        if response.error.is_empty() {
            Ok(response)
        } else {
            Err(RenderError::Rejected(response.error))
        }
    }

    async fn exchange(
        &self,
        process: &mut Process,
        request: &Request<'_>,
        lookup: &dyn Lookup,
    ) -> Result<Response, RenderError> {
        let timeout = self.settings.timeout;
        let exchange = process::exchange(process, request, lookup);
        match tokio::time::timeout(timeout + GRACE, exchange).await {
            Ok(response) => Ok(response?),
            Err(_) => Err(RenderError::Timeout(timeout)),
        }
    }

    fn restart_idle_timer(&self) {
        let (idle, slot) = (self.settings.idle, Arc::downgrade(&self.process));
        let timer = tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(slot) = slot.upgrade() {
                drop(slot.lock().await.take());
            }
        });
        if let Some(previous) = self.idle_timer.lock().replace(timer.abort_handle()) {
            previous.abort();
        }
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        if let Some(timer) = self.idle_timer.lock().take() {
            timer.abort();
        }
    }
}

fn no_result() -> RenderError {
    RenderError::Process(ProcessError::Protocol("the response has no result"))
}
