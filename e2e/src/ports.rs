//! Leases of free ports.

use std::net::{IpAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below the range from which the kernel takes ports of outgoing connections, so that none of
/// those can take a port between its lease and its use.
const RANGE: std::ops::Range<u16> = 20_000..30_000;

/// All ports of the range are in use.
#[derive(Debug, thiserror::Error)]
#[error("no free port on {address} between {} and {}", RANGE.start, RANGE.end)]
pub struct NoFreePort {
    /// The address on which a port was wanted.
    pub address: IpAddr,
}

/// A port that no other lease on this machine has until this one is dropped.
#[derive(Debug)]
pub struct PortLease {
    port: u16,
    // A name in the kernel, gone with the process however it ends; it leaves no file behind.
    _claim: UnixListener,
}

impl PortLease {
    /// Takes a port that is free on `address`.
    pub fn take(address: IpAddr) -> Result<Self, NoFreePort> {
        // Different processes begin at different places, so that they rarely meet.
        let begin = usize::try_from(std::process::id()).unwrap_or(0) * 97 % RANGE.len();
        RANGE
            .cycle()
            .skip(begin)
            .take(RANGE.len())
            .find_map(|port| Self::claim(address, port))
            .ok_or(NoFreePort { address })
    }

    /// Takes `port`, unless it is in use on `address` or leased.
    pub fn claim(address: IpAddr, port: u16) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("drover-e2e-port-{port}")).ok()?;
        let claim = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind((address, port)).ok()?;
        Some(Self {
            port,
            _claim: claim,
        })
    }

    /// The port's number.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Tests of one process begin at the same port: each has them for itself.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn leased_port_is_not_leased_again_until_dropped() {
        let _turn = TURN.lock();
        let lease = PortLease::take(LOOPBACK).unwrap();
        let port = lease.port();
        assert!(PortLease::claim(LOOPBACK, port).is_none());
        assert_ne!(PortLease::take(LOOPBACK).unwrap().port(), port);
        drop(lease);
        assert!(PortLease::claim(LOOPBACK, port).is_some());
    }

    #[test]
    fn port_in_use_is_not_leased() {
        let _turn = TURN.lock();
        let lease = PortLease::take(LOOPBACK).unwrap();
        let port = lease.port();
        let listener = TcpListener::bind((LOOPBACK, port)).unwrap();
        drop(lease);
        assert!(PortLease::claim(LOOPBACK, port).is_none());
        drop(listener);
    }
}
