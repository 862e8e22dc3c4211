//! An answer that goes on: lines of a watch as they arrive.

use std::pin::Pin;
use std::time::Duration;

use drover_ui_core::lines::Lines;
use drover_ui_core::problem::Problem;
use futures::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};

use crate::clock::{now, sleep};
use crate::fetch::Request;
use crate::network::Told;

/// No object of a list is longer.
const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// A stream of lines; dropped, it is cut.
pub(crate) struct LineStream {
    reader: ReadableStreamDefaultReader,
    lines: Lines,
    patience: SignedDuration,
    heard: Timestamp,
    /// Ends when it is time to ask whether nothing was heard for too long: one timer, however many
    /// lines come.
    silence: Pin<Box<dyn Future<Output = ()>>>,
    lost: Told,
    _cut: Cut,
}

/// Ends the request with its owner.
struct Cut(AbortController);

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LineStream {
    /// Sends a request whose answer does not end; silence longer than `patience` ends it.
    pub(crate) async fn open(request: Request, patience: Duration) -> Result<Self, Problem> {
        let controller = AbortController::new().map_err(|_| Problem::offline())?;
        let cut = Cut(controller);
        let signal = cut.0.signal();
        let sent = Box::pin(request.send(&signal));
        let response = match select(sent, Box::pin(sleep(patience))).await {
            Either::Left((response, _)) => response?,
            Either::Right(_) => return Err(Problem::offline()),
        };
        let body = response.body().ok_or_else(|| Problem::strange("no body"))?;
        let reader = body.get_reader().unchecked_into();
        Ok(Self {
            reader,
            lines: Lines::of_at_most(LONGEST_LINE),
            patience: SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX),
            heard: now(),
            silence: Box::pin(sleep(patience)),
            lost: Told::lost(),
            _cut: cut,
        })
    }

    /// Leaves out the rest of lines that are longer, instead of ending.
    pub(crate) fn cutting_lines_at(mut self, longest: usize) -> Self {
        self.lines = Lines::cut_at(longest);
        self
    }

    /// The lines that came next; `None` when the server has ended the answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Problem> {
        let piece = self.piece().await?;
        let of = |name: &str| {
            let found = js_sys::Reflect::get(&piece, &JsValue::from_str(name));
            found.map_err(|_| Problem::strange("a stream without parts"))
        };
        if of("done")?.is_truthy() {
            return Ok(None);
        }
        let bytes = js_sys::Uint8Array::new(&of("value")?).to_vec();
        let lines = self.lines.push(&bytes);
        lines
            .map(Some)
            .map_err(|_| Problem::strange("a line without end"))
    }

    /// What the stream gives next, unless it is silent for too long or the network is lost.
    async fn piece(&mut self) -> Result<JsValue, Problem> {
        let mut read = JsFuture::from(self.reader.read());
        loop {
            match select(&mut read, select(&mut self.silence, &mut self.lost)).await {
                Either::Left((piece, _)) => {
                    self.heard = now();
                    return piece.map_err(|_| Problem::offline());
                }
                Either::Right((Either::Right(_), _)) => return Err(Problem::offline()),
                Either::Right((Either::Left(_), _)) => {}
            }
            let left = self.patience - now().duration_since(self.heard);
            let Some(left) = Duration::try_from(left).ok().filter(|left| !left.is_zero()) else {
                return Err(Problem::offline());
            };
            self.silence = Box::pin(sleep(left));
        }
    }
}
