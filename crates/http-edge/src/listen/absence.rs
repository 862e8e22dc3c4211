//! Noticing that a peer's machine is gone when nothing is written to it: a laptop that sleeps in the
//! middle of `kubectl exec` says no goodbye, and HTTP/1.1 has no pings.

use std::time::Duration;

use rustix::io;
use rustix::net::sockopt;
use tokio::net::TcpStream;

/// Silence after which the peer's machine is asked whether it lives.
const SILENCE: Duration = Duration::from_secs(30);
/// How often it is asked from then on.
const INTERVAL: Duration = Duration::from_secs(10);
/// How often at most, where [`UNACKNOWLEDGED`] does not count.
const TIMES: u32 = 6;
/// How long the peer may leave unacknowledged what it was sent or asked. Linux applies it to a peer
/// that acknowledges but does not read, too: longer than the tunnels wait for such a reader.
const UNACKNOWLEDGED: Duration = Duration::from_secs(90);

/// Makes the system close a connection whose peer is gone.
pub(super) fn notice_absence(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE)?;
    sockopt::set_tcp_keepintvl(stream, INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, TIMES)?;
    let millis = u32::try_from(UNACKNOWLEDGED.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, millis)
}
