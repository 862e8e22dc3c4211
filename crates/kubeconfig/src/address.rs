//! The IP addresses that a user's API server can have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// Addresses of cloud providers' metadata services outside of the link-local ranges.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// Whether an address of this machine itself is permitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loopback {
    /// Loopback addresses are forbidden.
    #[default]
    Forbidden,
    /// Loopback addresses are permitted, for tests with API servers on this machine.
    Permitted,
}

/// An address that only this machine, or a service of its cloud, should reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the address {0} of the API server is a loopback, link-local, multicast or metadata address; use the \
     address of the API server in its network"
)]
pub struct ForbiddenAddress(pub IpAddr);

/// Checks the address of an API server before a connection. The caller checks each address of a name when
/// it connects, because a name can change its address.
///
/// # Errors
///
/// The address is a loopback, link-local, multicast, unspecified or metadata address.
pub fn check_address(address: IpAddr, loopback: Loopback) -> Result<(), ForbiddenAddress> {
    let target = embedded(address);
    let is_forbidden = match target {
        IpAddr::V4(v4) => {
            let octets = v4.octets();
            // Linux connects 0.0.0.0/8 to this machine.
            v4.is_link_local() || v4.is_multicast() || v4.is_broadcast() || octets[0] == 0
        }
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_multicast() || v6.is_unspecified(),
    };
    let is_local = target.is_loopback() && loopback == Loopback::Forbidden;
    if is_forbidden || is_local || METADATA.contains(&target) {
        return Err(ForbiddenAddress(address));
    }
    Ok(())
}

/// Returns the IPv4 address in an IPv6 address of a translator (RFC 4291, RFC 6052).
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return IpAddr::V4(v4);
    }
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_permitted(address: &str, loopback: Loopback) -> bool {
        check_address(address.parse().unwrap(), loopback).is_ok()
    }

    #[test]
    fn link_local_and_metadata_addresses_are_forbidden() {
        for address in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
        ] {
            assert!(!is_permitted(address, Loopback::Forbidden), "{address}");
            assert!(!is_permitted(address, Loopback::Permitted), "{address}");
        }
        for address in [
            "10.0.0.1",
            "192.168.1.1",
            "203.0.113.7",
            "fd00::1",
            "2001:db8::1",
        ] {
            assert!(is_permitted(address, Loopback::Forbidden), "{address}");
        }
    }

    #[test]
    fn loopback_addresses_are_forbidden_unless_permitted() {
        for address in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"] {
            assert!(!is_permitted(address, Loopback::Forbidden), "{address}");
            assert!(is_permitted(address, Loopback::Permitted), "{address}");
        }
    }
}
