//! The IP addresses that a user's API server can have.

use std::net::IpAddr;

use drover_addresses::{Loopback, is_forbidden};
use thiserror::Error;

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
    if is_forbidden(address, loopback) {
        return Err(ForbiddenAddress(address));
    }
    Ok(())
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
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::",
            "::169.254.169.254",
            "2002:a9fe:a9fe::1",
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
