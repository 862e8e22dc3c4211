//! IP addresses to which Drover sends no requests of untrusted users.
//!
//! *Owns* the decision whether an address belongs to this machine, its link, or a service of its cloud.
//! *Never* resolves a name or opens a connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    /// Loopback addresses are permitted, for servers on this machine.
    Permitted,
}

/// Reports whether an address is a link-local, multicast, broadcast, unspecified or metadata address, or a
/// loopback address that is not permitted. The caller checks each address of a name when it connects, because
/// a name can change its address.
#[must_use]
pub fn is_forbidden(address: IpAddr, loopback: Loopback) -> bool {
    targets(address).iter().any(|target| {
        let is_own = match target {
            // Linux connects 0.0.0.0/8 to this machine.
            IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4.octets()[0] == 0,
            IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified(),
        };
        let is_local = target.is_loopback() && loopback == Loopback::Forbidden;
        is_own || is_local || target.is_multicast() || METADATA.contains(target)
    })
}

/// Returns the addresses to which a translator or a tunnel can forward an IPv6 address: mapped and compatible
/// addresses (RFC 4291), NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056). Returns other addresses unchanged.
fn targets(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address.to_canonical() else {
        return vec![address.to_canonical()];
    };
    let bytes = v6.octets();
    let places: &[[usize; 4]] = match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => &[[12, 13, 14, 15]],
        // A network chooses the length of its prefix, and so the place of the IPv4 address.
        [0x64, 0xff9b, 1, ..] => &[
            [6, 7, 9, 10],
            [7, 9, 10, 11],
            [9, 10, 11, 12],
            [12, 13, 14, 15],
        ],
        [0x2002, ..] => &[[2, 3, 4, 5]],
        // The last block has the unspecified and the loopback address.
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => &[[12, 13, 14, 15]],
        _ => return vec![address],
    };
    let found = places.iter().map(|place| place.map(|index| bytes[index]));
    // The bytes at the other places are usually zero.
    let mut found: Vec<IpAddr> = found
        .filter(|octets| octets[0] != 0 || places.len() == 1)
        .map(IpAddr::from)
        .collect();
    found.push(address);
    found
}
