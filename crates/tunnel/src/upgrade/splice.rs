//! Copies bytes in both directions between two connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio_util::sync::CancellationToken;

use crate::tunnel::{Metered, Traffic};

/// Buffer size per direction in bytes.
const BUFFER: usize = 32 * 1024;
/// Maximum duration without bytes on a half-closed connection. The duration is finite, because a
/// disconnected client looks like a client that only finished sending.
const HALF_CLOSED_SILENCE: Duration = Duration::from_mins(10);

/// Reason why a splice ended.
#[derive(Debug)]
pub enum SpliceEnd {
    /// Both connections ended regularly.
    Done,
    /// The user's connection failed, and the upstream's connection was closed.
    UserBroken(io::Error),
    /// The upstream's connection failed, and the user's connection was closed.
    UpstreamBroken(io::Error),
    /// The splice was cancelled.
    Cancelled,
    /// The tunnel reset the stream, because the user of the stream stalled or a limit was exceeded.
    Aborted,
    /// One connection ended, and the remaining connection was silent for ten minutes.
    HalfClosedSilence,
}

/// Copies bytes between `user` and `upstream` in both directions.
///
/// When one direction ends, its end is forwarded, and the opposite direction continues. `traffic`
/// counts bytes from the user as read, and bytes to the user as written.
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

/// Resolves when a half-closed connection was silent for the maximum duration.
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
