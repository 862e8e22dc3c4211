//! Leases free ports to tests.

use std::net::{IpAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The range of ports that tests can lease. The kernel selects higher ports for outgoing
/// connections, so outgoing connections never use a leased port.
const RANGE: std::ops::Range<u16> = 20_000..30_000;

/// All ports of the range are leased or in use.
#[derive(Debug, thiserror::Error)]
#[error("no free port on {address} between {} and {}", RANGE.start, RANGE.end)]
pub struct NoFreePort {
    /// The IP address on which no port is free.
    pub address: IpAddr,
}

/// The lease of a port. Only one process on this machine can lease a port. Dropping the value
/// releases the port.
#[derive(Debug)]
pub struct PortLease {
    port: u16,
    // An abstract socket as a lock. The kernel releases the lock when the process ends, and no file
    // remains.
    _claim: UnixListener,
}

impl PortLease {
    /// Leases a free port on `address`.
    pub fn take(address: IpAddr) -> Result<Self, NoFreePort> {
        // Different processes start at different ports, so that they rarely collide.
        let begin = usize::try_from(std::process::id()).unwrap_or(0) * 97 % RANGE.len();
        RANGE
            .cycle()
            .skip(begin)
            .take(RANGE.len())
            .find_map(|port| Self::claim(address, port))
            .ok_or(NoFreePort { address })
    }

    /// Leases `port`, unless it is in use on `address` or already leased.
    pub fn claim(address: IpAddr, port: u16) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("drover-e2e-port-{port}")).ok()?;
        let claim = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind((address, port)).ok()?;
        Some(Self {
            port,
            _claim: claim,
        })
    }

    /// Returns the port number.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// A lock that serializes tests of port leases, because all tests of a process begin the search
    /// at the same port.
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn leased_port_is_not_leased_again_until_dropped() {
        let _turn = LOCK.lock();
        let lease = PortLease::take(LOOPBACK).unwrap();
        let port = lease.port();
        assert!(PortLease::claim(LOOPBACK, port).is_none());
        assert_ne!(PortLease::take(LOOPBACK).unwrap().port(), port);
        drop(lease);
        assert!(PortLease::claim(LOOPBACK, port).is_some());
    }

    #[test]
    fn port_in_use_is_not_leased() {
        let _turn = LOCK.lock();
        let lease = PortLease::take(LOOPBACK).unwrap();
        let port = lease.port();
        let listener = TcpListener::bind((LOOPBACK, port)).unwrap();
        drop(lease);
        assert!(PortLease::claim(LOOPBACK, port).is_none());
        drop(listener);
    }
}
