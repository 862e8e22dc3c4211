//! Sends request bodies to the agent.

use std::pin::Pin;

use bytes::{Buf, Bytes};
use futures::FutureExt;
use h2::{Reason, SendStream};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::oneshot;

use crate::BoxError;

/// Reason why a body was not sent completely. The response, if any, contains the details.
enum Stopped {
    /// The agent reset the stream, or the tunnel closed.
    ByPeer,
    /// The body returned an error, or the caller dropped the response.
    ByUser,
}

/// Sends `body` on the stream `half` at the speed at which the agent reads. Resets the stream when
/// the sender of `cancel` is dropped.
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
            // An empty frame that does not end the stream must not be sent; see `SkipEmpty`.
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

/// Converts a frame of a body to data or trailers. Logs the error of a failed body.
fn readable<D: Buf, E: Into<BoxError>>(
    frame: Result<Frame<D>, E>,
) -> Result<Frame<Bytes>, Stopped> {
    match frame {
        Ok(frame) => Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))),
        Err(error) => {
            let error: BoxError = error.into();
            tracing::debug!(error, "failed to read the body of a request");
            Err(Stopped::ByUser)
        }
    }
}

/// Waits until the agent's window allows at least one byte. Without this wait, h2 would buffer
/// bytes that exceed the window.
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
