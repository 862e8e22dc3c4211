//! Network prefixes of clients, and limits per network.
//!
//! An attacker may own a complete IPv6 /48 with 65,536 /64 networks. Therefore the limits apply to
//! three prefixes of each address: the client's network and two wider networks. The wider networks
//! have a larger fraction of the limit than a single network, but never the complete limit.

mod agents;
mod limits;
mod proxies;
mod rates;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use axum::extract::ConnectInfo;
use http::Extensions;
use thiserror::Error;

pub use self::agents::AgentNetworks;
pub use self::limits::{NetworkLimits, NetworkSlot, has_room};
pub use self::proxies::TrustedProxies;
pub use self::rates::{Quota, Rates, Wait};

/// Lengths of the prefixes that have limits. The first length is the client's own network.
const IPV4_WIDTHS: [u8; 3] = [32, 24, 16];
const IPV6_WIDTHS: [u8; 3] = [64, 56, 48];

/// Placeholder for an unknown client address.
pub const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Returns the network of a client: an IPv4 address, or an IPv6 /64 prefix.
pub fn network(address: IpAddr) -> IpAddr {
    prefixes(address)[0].first
}

/// Returns the client address of a request. All requests without a known address share [`NOWHERE`].
pub fn sender(request: &Extensions) -> IpAddr {
    let peer = request.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(NOWHERE, |ConnectInfo(peer)| peer.ip())
}

/// A network prefix (CIDR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    first: IpAddr,
    length: u8,
}

impl Prefix {
    /// Returns the prefix of this length that contains an address. A length beyond the address
    /// length is truncated.
    pub fn of(address: IpAddr, length: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self {
                    first: Ipv4Addr::from_bits(v4.to_bits() & mask).into(),
                    length,
                }
            }
            IpAddr::V6(v6) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self {
                    first: Ipv6Addr::from_bits(v6.to_bits() & mask).into(),
                    length,
                }
            }
        }
    }

    /// Reports whether the prefix contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        Self::of(address, self.length) == self
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

/// The reason why a text is not a CIDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// The text is not an address, or the length is not valid for its address family.
    #[error(
        "invalid network: write a CIDR, such as 10.0.0.0/8 or 2001:db8::/32, or a single address"
    )]
    Malformed,
    /// The text is an IPv4 address mapped into an IPv6 address.
    #[error("invalid network: write an IPv4 network as IPv4 CIDR, such as 10.0.0.0/8")]
    Mapped,
    /// The address has bits beyond the prefix length.
    #[error(
        "invalid network: the address has bits after the prefix length; write {network}",
        network = .0
    )]
    NotFirst(Prefix),
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| PrefixError::Malformed)?;
        if address.to_canonical() != address {
            return Err(PrefixError::Mapped);
        }
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(longest), str::parse::<u8>);
        let length = length.ok().filter(|length| *length <= longest);
        let prefix = Self::of(address, length.ok_or(PrefixError::Malformed)?);
        if prefix.first == address {
            Ok(prefix)
        } else {
            Err(PrefixError::NotFirst(prefix))
        }
    }
}

/// Returns the prefixes of an address that have limits. The longest prefix is first.
fn prefixes(address: IpAddr) -> [Prefix; 3] {
    let widths = match address.to_canonical() {
        IpAddr::V4(_) => IPV4_WIDTHS,
        IpAddr::V6(_) => IPV6_WIDTHS,
    };
    widths.map(|width| Prefix::of(address, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_slash_64_prefix_counts_as_one_network() {
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let two: IpAddr = "2001:db8::ffff:1".parse().unwrap();
        let other: IpAddr = "2001:db8:0:1::1".parse().unwrap();
        assert_eq!(network(one), network(two));
        assert_ne!(network(one), network(other));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(network(mapped), IpAddr::from([192, 0, 2, 1]));
    }

    #[test]
    fn network_prefix_contains_addresses_with_the_same_leading_bits() {
        let prefix = |address: &str, length| Prefix::of(address.parse().unwrap(), length);
        let holds = |prefix: Prefix, address: &str| prefix.contains(address.parse().unwrap());
        assert!(holds(prefix("10.1.2.3", 8), "10.200.0.1"));
        assert!(!holds(prefix("10.1.2.3", 8), "11.0.0.1"));
        assert!(holds(prefix("2001:db8::", 48), "2001:db8:0:ffff::1"));
        assert!(!holds(prefix("2001:db8::", 48), "2001:db8:1::1"));
        assert!(holds(prefix("0.0.0.0", 0), "192.0.2.1"));
        assert!(!holds(prefix("0.0.0.0", 0), "::1"), "another family");
        assert!(holds(prefix("::", 0), "2001:db8::1"));
        assert!(holds(prefix("192.0.2.1", 32), "::ffff:192.0.2.1"));
    }

    #[test]
    fn network_prefix_is_parsed_from_a_cidr_or_an_address() {
        let read = |text: &str| text.parse::<Prefix>().map(|prefix| prefix.to_string());
        assert_eq!(read("10.0.0.0/8").unwrap(), "10.0.0.0/8");
        assert_eq!(read("192.0.2.1").unwrap(), "192.0.2.1/32");
        assert_eq!(read("2001:db8::/32").unwrap(), "2001:db8::/32");
        assert_eq!(read("::1").unwrap(), "::1/128");
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0/8",
            "x",
            "::/129",
            "::1/",
        ] {
            assert_eq!(read(text), Err(PrefixError::Malformed), "{text}");
        }
        assert_eq!(read("::ffff:10.0.0.0/104"), Err(PrefixError::Mapped));
        let error = read("10.1.2.3/8").unwrap_err().to_string();
        assert!(error.ends_with("write 10.0.0.0/8"), "{error}");
    }
}
