//! Streamed responses of watches and logs, split into lines.

use std::pin::Pin;
use std::time::Duration;

use drover_ui_core::lines::Lines;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use futures::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};

use crate::clock::{now, sleep};
use crate::fetch::Request;
use crate::network::NetworkEvent;

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// A stream of lines. Dropping the stream aborts the request.
pub(crate) struct LineStream {
    reader: ReadableStreamDefaultReader,
    lines: Lines,
    timeout: SignedDuration,
    status: Timestamp,
    /// The timer of the silence timeout. One timer serves all lines.
    silence: Pin<Box<dyn Future<Output = ()>>>,
    lost: NetworkEvent,
    _cut: AbortOnDrop,
}

/// The reason why a stream ended before the server closed the response.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// The stream had no data within the timeout.
    Silence,
    /// The request was rejected, or the connection was interrupted.
    Problem(Problem),
}

impl From<Problem> for Interruption {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Converts an interruption to an error, for callers that expect data within the timeout.
impl From<Interruption> for Problem {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Silence => Self::offline(),
            Interruption::Problem(problem) => problem,
        }
    }
}

/// Aborts the request on drop.
struct AbortOnDrop(AbortController);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LineStream {
    /// Sends a request for a stream. The stream ends if the server sends no data for `timeout`.
    pub(crate) async fn open(request: Request, timeout: Duration) -> Result<Self, Interruption> {
        let controller = AbortController::new().map_err(|_| Problem::offline())?;
        let cut = AbortOnDrop(controller);
        let signal = cut.0.signal();
        let mut lost = NetworkEvent::lost();
        let sent = Box::pin(request.send(&signal));
        let in_vain = select(Box::pin(sleep(timeout)), &mut lost);
        let response = match select(sent, in_vain).await {
            Either::Left((response, _)) => response?,
            Either::Right((Either::Left(_), _)) => return Err(Interruption::Silence),
            Either::Right((Either::Right(_), _)) => return Err(Problem::offline().into()),
        };
        let body = response
            .body()
            .ok_or_else(|| Problem::strange(t().problems.no_body()))?;
        let reader = body.get_reader().unchecked_into();
        Ok(Self {
            reader,
            lines: Lines::of_at_most(MAX_LINE_BYTES),
            timeout: SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX),
            status: now(),
            silence: Box::pin(sleep(timeout)),
            lost,
            _cut: cut,
        })
    }

    /// Truncates lines that have more than this number of bytes. If the caller does not call this
    /// method, a line above the maximum length is an error.
    pub(crate) fn cutting_lines_at(mut self, longest: usize) -> Self {
        self.lines = Lines::cut_at(longest);
        self
    }

    /// Returns the next lines. Returns `None` at the end of the response.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Interruption> {
        let piece = self.piece().await?;
        let of = |name: &str| {
            let found = js_sys::Reflect::get(&piece, &JsValue::from_str(name));
            found.map_err(|_| Problem::strange(t().problems.bad_stream()))
        };
        if of("done")?.is_truthy() {
            return Ok(None);
        }
        let bytes = js_sys::Uint8Array::new(&of("value")?).to_vec();
        let lines = self.lines.push(&bytes);
        let lines = lines.map_err(|_| Problem::strange(t().problems.endless_line()))?;
        Ok(Some(lines))
    }

    /// Returns the last line if the line has no newline.
    pub(crate) fn last(&mut self) -> Option<Vec<u8>> {
        self.lines.finish()
    }

    /// Returns the next chunk, or an error after a timeout or a lost network.
    async fn piece(&mut self) -> Result<JsValue, Interruption> {
        let mut read = JsFuture::from(self.reader.read());
        loop {
            match select(&mut read, select(&mut self.silence, &mut self.lost)).await {
                Either::Left((piece, _)) => {
                    self.status = now();
                    return piece.map_err(|_| Problem::offline().into());
                }
                Either::Right((Either::Right(_), _)) => return Err(Problem::offline().into()),
                Either::Right((Either::Left(_), _)) => {}
            }
            let remaining = self.timeout - now().duration_since(self.status);
            let Some(remaining) = Duration::try_from(remaining)
                .ok()
                .filter(|remaining| !remaining.is_zero())
            else {
                return Err(Interruption::Silence);
            };
            self.silence = Box::pin(sleep(remaining));
        }
    }
}
