//! A request's body on its way to the agent.

use std::pin::Pin;

use bytes::{Buf, Bytes};
use futures::FutureExt;
use h2::{Reason, SendStream};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::oneshot;

use crate::BoxError;

/// Why a body was not sent to its end; the response, if one comes, says more.
enum Stopped {
    /// The agent wants no more of it, or the tunnel closed.
    ByPeer,
    /// The body failed, or nobody waits for the response any more.
    ByUser,
}

/// Sends `body` on `half`, no faster than the agent reads. Once `cancel`'s other end is
/// dropped, the stream is reset.
pub(super) async fn pipe<B>(
    body: Pin<Box<B>>,
    mut half: SendStream<Bytes>,
    cancel: oneshot::Receiver<()>,
) where
    B: Body,
    B::Error: Into<BoxError>,
{
    let stopped = tokio::select! {
        biased;
        sent = send_all(body, &mut half) => sent.err(),
        _ = cancel => Some(Stopped::ByUser),
    };
    if matches!(stopped, Some(Stopped::ByUser)) {
        half.send_reset(Reason::CANCEL);
    }
}

async fn send_all<B>(mut body: Pin<Box<B>>, half: &mut SendStream<Bytes>) -> Result<(), Stopped>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    loop {
        let frame = tokio::select! {
            biased;
            frame = body.frame().map(|frame| frame.map(readable)) => frame,
            _ = std::future::poll_fn(|cx| half.poll_reset(cx)) => return Err(Stopped::ByPeer),
        };
        let Some(frame) = frame else {
            return half
                .send_data(Bytes::new(), true)
                .map_err(|_| Stopped::ByPeer);
        };
        let frame = frame?;
        let last = body.is_end_stream();
        match frame.into_data().map_err(Frame::into_trailers) {
            Ok(data) if !data.is_empty() => {
                window(half).await?;
                half.send_data(data, last).map_err(|_| Stopped::ByPeer)?;
            }
            Ok(_) if last => {
                half.send_data(Bytes::new(), true)
                    .map_err(|_| Stopped::ByPeer)?;
            }
            // See `SkipEmpty`: an empty frame that ends nothing must not be sent.
            Ok(_) => continue,
            Err(Ok(trailers)) => {
                return half.send_trailers(trailers).map_err(|_| Stopped::ByPeer);
            }
            Err(Err(_unknown)) => continue,
        }
        if last {
            return Ok(());
        }
    }
}

/// A frame in this module's types; a failed body's error goes no further than the log.
fn readable<D: Buf, E: Into<BoxError>>(
    frame: Result<Frame<D>, E>,
) -> Result<Frame<Bytes>, Stopped> {
    match frame {
        Ok(frame) => Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))),
        Err(error) => {
            let error: BoxError = error.into();
            tracing::debug!(error, "a request's body broke off");
            Err(Stopped::ByUser)
        }
    }
}

/// Waits until the agent allows at least a byte; h2 holds back what exceeds its window.
async fn window(half: &mut SendStream<Bytes>) -> Result<(), Stopped> {
    half.reserve_capacity(1);
    while half.capacity() == 0 {
        match std::future::poll_fn(|cx| half.poll_capacity(cx)).await {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Err(Stopped::ByPeer),
        }
    }
    Ok(())
}
