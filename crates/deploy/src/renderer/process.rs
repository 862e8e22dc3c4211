//! Requests to the process of the renderer.

use drover_render_process::{Process, ProcessError, Setup};
use serde_json::Value;

use super::protocol::{Found, Request, Response};
use super::{Lookup, Settings};

/// Maximum size of a frame, in bytes.
const MAX_FRAME_BYTES: usize = 192 << 20;
/// Maximum size of a file that the process writes, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Maximum number of lookups of one chart.
const MAX_LOOKUPS: usize = 1000;

/// Starts the renderer.
pub(super) fn start(settings: &Settings) -> Result<Process, ProcessError> {
    let environment = settings.environment.iter();
    Process::start(&Setup {
        program: settings.program.clone(),
        folder: None,
        environment: environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        memory_bytes: settings.memory_bytes,
        cpu_seconds: None,
        file_bytes: MAX_FILE_BYTES,
        frame_bytes: MAX_FRAME_BYTES,
    })
}

/// Sends a request, answers the lookups, and returns the response.
pub(super) async fn exchange(
    process: &mut Process,
    request: &Request<'_>,
    lookup: &dyn Lookup,
) -> Result<Response, ProcessError> {
    process.write(request).await?;
    for _ in 0..=MAX_LOOKUPS {
        let (mut response, size): (Response, usize) = process.read().await?;
        let Some(question) = &response.lookup else {
            if let Some(rendered) = &mut response.rendered {
                rendered.size = size;
            }
            return Ok(response);
        };
        let found = match lookup.lookup(question).await {
            Ok(object) => Found {
                object,
                error: String::new(),
            },
            Err(error) => Found {
                object: Value::Null,
                error,
            },
        };
        process.write(&found).await?;
    }
    Err(ProcessError::Protocol("the chart calls lookup too often"))
}
