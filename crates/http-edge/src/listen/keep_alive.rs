//! TCP keep-alive. The keep-alive detects a lost peer while no data is sent, for example a laptop
//! that sleeps during `kubectl exec`. HTTP/1.1 has no pings.

use std::time::Duration;

use rustix::io;
use rustix::net::sockopt;
use tokio::net::TcpStream;

/// Idle time before the first probe.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Interval between probes.
const INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of probes. Applies only on systems where [`UNACKNOWLEDGED`] has no effect.
const MAX_PROBES: u32 = 6;
/// Maximum time that sent data or probes stay unacknowledged. Linux also applies the limit to a
/// peer that acknowledges but does not read. The tunnels' own limit for a peer that does not read
/// is shorter.
const UNACKNOWLEDGED: Duration = Duration::from_secs(90);

/// Configures the kernel to close a connection whose peer is lost.
pub(super) fn enable_keep_alive(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, IDLE_TIME)?;
    sockopt::set_tcp_keepintvl(stream, INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, MAX_PROBES)?;
    let millis = u32::try_from(UNACKNOWLEDGED.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, millis)
}
