//! Addresses that a worker connects to.
//!
//! The author of a repository names the hosts of submodules and charts. Without this check, the worker
//! would send requests to the metadata service of the server's cloud.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use drover_addresses::{Loopback, is_forbidden};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// An address that only the machine itself should reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address {0} is a loopback, link-local, multicast or metadata address")]
pub(super) struct ForbiddenAddress(IpAddr);

/// Rejects an address that only the machine itself should reach. `host` is the host with the address, and
/// `home` is the host of the configured repository. Only `home` can be this machine, for the repositories of
/// the server itself.
pub(super) fn check(address: IpAddr, host: &str, home: &str) -> Result<(), ForbiddenAddress> {
    let loopback = if host.eq_ignore_ascii_case(home) {
        Loopback::Permitted
    } else {
        Loopback::Forbidden
    };
    if is_forbidden(address, loopback) {
        return Err(ForbiddenAddress(address));
    }
    Ok(())
}

/// Checks the host of a URL if it is an address. A proxy or the HTTP client would connect without a
/// [`Resolver`].
pub(super) fn check_literal(url: &Url, home: &str) -> Result<(), ForbiddenAddress> {
    let host = url.host_str().unwrap_or_default();
    match url.host() {
        Some(Host::Ipv4(address)) => check(address.into(), host, home),
        Some(Host::Ipv6(address)) => check(address.into(), host, home),
        _ => Ok(()),
    }
}

/// Resolves names, and rejects a name with a forbidden address.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    /// Host of the configured repository.
    pub(super) home: Arc<str>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let home = Arc::clone(&self.home);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            for address in &found {
                check(address.ip(), name.as_str(), &home)?;
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
            "0.1.2.3",
            "255.255.255.255",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00:0",
            "::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "64:ff9b::100.100.100.200",
        ] {
            let address = forbidden.parse().unwrap();
            assert!(
                check(address, "git.example", "git.example").is_err(),
                "{forbidden}"
            );
        }
        for permitted in [
            "10.0.0.1",
            "192.0.2.1",
            "2001:db8::1",
            "fd00::1",
            "64:ff9b::192.0.2.1",
        ] {
            let address = permitted.parse().unwrap();
            assert_eq!(
                check(address, "other", "git.example"),
                Ok(()),
                "{permitted}"
            );
        }
    }

    #[test]
    fn only_the_host_of_the_configured_repository_can_be_this_machine() {
        for local in [
            "127.0.0.1",
            "127.9.8.7",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::127.0.0.1",
        ] {
            let address = local.parse().unwrap();
            assert_eq!(check(address, "localhost", "LOCALHOST"), Ok(()), "{local}");
            assert!(
                check(address, "localhost", "git.example").is_err(),
                "{local}"
            );
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn names_and_urls_with_a_forbidden_address_are_rejected() {
        let url = |text| check_literal(&Url::parse(text).unwrap(), "127.0.0.1");
        assert!(url("http://169.254.169.254/a").is_err());
        assert!(url("http://0xa9fea9fe/a").is_err());
        assert!(url("http://[fe80::1]/a").is_err());
        assert!(url("http://[::1]/a").is_err());
        assert_eq!(url("http://127.0.0.1/a"), Ok(()));
        assert_eq!(url("http://localhost/a"), Ok(()));
        let name = |text: &str, home: &str| {
            let resolver = Resolver { home: home.into() };
            resolver.resolve(text.parse().unwrap())
        };
        assert!(name("localhost", "localhost").await.is_ok());
        assert!(name("localhost", "git.example").await.is_err());
        assert!(name("0.0.0.0", "0.0.0.0").await.is_err());
    }
}
