//! Copying between two connections until both are done.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio_util::sync::CancellationToken;

use crate::tunnel::{Metered, Traffic};

/// Bytes in hand in each direction.
const BUFFER: usize = 32 * 1024;
/// How long the open half of a half-closed pair may be silent. A client that is gone looks
/// like one that has only finished sending, so this cannot be endless.
const HALF_CLOSED_SILENCE: Duration = Duration::from_mins(10);

/// How a splice ended.
#[derive(Debug)]
pub enum SpliceEnd {
    /// Both sides sent all they had.
    Done,
    /// The user's side broke; the other was cut off too.
    UserBroken(io::Error),
    /// The upstream's side broke, and the user was cut off.
    UpstreamBroken(io::Error),
    /// It was cancelled.
    Cancelled,
    /// The tunnel reset the stream: its user stalled, or a budget was exceeded.
    Aborted,
    /// One side had ended and the other was silent for ten minutes.
    HalfClosedSilence,
}

/// Copies between `user` and `upstream` both ways. The end of one direction is passed on
/// and does not touch the other. Counts in `traffic`: in is from the user, out to the user.
pub async fn splice<U, S>(
    user: U,
    upstream: S,
    traffic: &Arc<Traffic>,
    cancel: &CancellationToken,
) -> SpliceEnd
where
    U: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let upstream_traffic = Arc::new(Traffic::default());
    let mut user = Metered::new(user, Arc::clone(traffic));
    let mut upstream = Metered::new(upstream, Arc::clone(&upstream_traffic));
    tokio::select! {
        biased;
        () = cancel.cancelled() => SpliceEnd::Cancelled,
        copied = copy_bidirectional_with_sizes(&mut user, &mut upstream, BUFFER, BUFFER) => {
            match copied {
                Ok(_) => SpliceEnd::Done,
                Err(error) if upstream_traffic.broken() => SpliceEnd::UpstreamBroken(error),
                Err(error) => SpliceEnd::UserBroken(error),
            }
        }
        () = silence(traffic, &upstream_traffic) => SpliceEnd::HalfClosedSilence,
    }
}

/// Resolves when a half-closed pair has been silent for too long.
async fn silence(user: &Traffic, upstream: &Traffic) {
    loop {
        let before = (user.bytes_in(), upstream.bytes_in());
        let half_closed = user.read_ended() || upstream.read_ended();
        tokio::time::sleep(HALF_CLOSED_SILENCE).await;
        if half_closed && before == (user.bytes_in(), upstream.bytes_in()) {
            return;
        }
    }
}
