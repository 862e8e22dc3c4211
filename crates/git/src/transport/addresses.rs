//! Addresses that a worker connects to.
//!
//! The author of a repository names the hosts of submodules and charts. Without this check, the worker
//! would send requests to the metadata service of the server's cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Metadata services of clouds outside of the link-local addresses.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// An address that only the machine itself should reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address {0} is a link-local, multicast or metadata address")]
pub(super) struct ForbiddenAddress(IpAddr);

/// Rejects an address that only the machine itself should reach.
pub(super) fn check(address: IpAddr) -> Result<(), ForbiddenAddress> {
    let address = address.to_canonical();
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if is_link_local
        || address.is_multicast()
        || address.is_unspecified()
        || METADATA.contains(&address)
    {
        return Err(ForbiddenAddress(address));
    }
    Ok(())
}

/// Checks the host of a URL if it is an address. A proxy or the HTTP client would connect without a
/// [`Resolver`].
pub(super) fn check_literal(url: &Url) -> Result<(), ForbiddenAddress> {
    match url.host() {
        Some(Host::Ipv4(address)) => check(address.into()),
        Some(Host::Ipv6(address)) => check(address.into()),
        _ => Ok(()),
    }
}

/// Resolves names, and rejects a name with a forbidden address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            for address in &found {
                check(address.ip())?;
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_machine_and_of_metadata_services_are_rejected() {
        for forbidden in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "ff02::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
        ] {
            let address = forbidden.parse().unwrap();
            assert!(check(address).is_err(), "{forbidden}");
        }
        for permitted in [
            "127.0.0.1",
            "10.0.0.1",
            "192.0.2.1",
            "2001:db8::1",
            "fd00::1",
        ] {
            assert_eq!(check(permitted.parse().unwrap()), Ok(()), "{permitted}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn names_and_urls_with_a_forbidden_address_are_rejected() {
        let url = |text| check_literal(&Url::parse(text).unwrap());
        assert!(url("http://169.254.169.254/a").is_err());
        assert!(url("http://0xa9fea9fe/a").is_err());
        assert!(url("http://[fe80::1]/a").is_err());
        assert_eq!(url("http://localhost/a"), Ok(()));
        let name = |text: &str| Resolver.resolve(text.parse().unwrap());
        assert!(name("localhost").await.is_ok());
        assert!(name("0.0.0.0").await.is_err());
    }
}
