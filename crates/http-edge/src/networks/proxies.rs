//! Trusted proxies. The server uses the client address that a trusted proxy adds to
//! `X-Forwarded-For`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use super::Prefix;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Networks that are trusted to set the client address. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[Prefix]>);

impl TrustedProxies {
    /// Creates the list of trusted networks.
    pub fn new(networks: &[Prefix]) -> Self {
        Self(networks.into())
    }

    /// Reports whether an address is trusted.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Returns the client of a request from this peer.
    ///
    /// Reads the last entry of the header first, because each proxy appends the address of its peer.
    /// The first untrusted address is the client. An invalid address stops the search, and the proxy
    /// that appended the invalid address becomes the client. Earlier entries are ignored.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return peer;
        }
        let mut client = peer;
        for value in headers.get_all(FORWARDED_FOR).iter().rev() {
            let Ok(value) = value.to_str() else {
                return client;
            };
            for element in value.rsplit(',') {
                let Some(address) = address(element.trim()) else {
                    return client;
                };
                client = address;
                if !self.contains(address) {
                    return client;
                }
            }
        }
        client
    }
}

/// Parses an address with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = || text.parse::<IpAddr>().ok();
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = bare().or_else(bracketed).or_else(with_port)?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies::new(&["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()])
    }

    fn client(peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        proxies()
            .client(peer.parse().unwrap(), &headers)
            .to_string()
    }

    #[test]
    fn client_address_is_the_last_untrusted_forwarded_address() {
        for (lines, expected) in [
            (&["198.51.100.1"][..], "198.51.100.1"),
            (&["203.0.113.9, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            (
                &["203.0.113.9, 198.51.100.1", "10.0.0.2,10.0.0.3"],
                "198.51.100.1",
            ),
            (&["198.51.100.1:4711"], "198.51.100.1"),
            (&["[2001:db8::1]:443, fd00::2"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["::ffff:198.51.100.1"], "198.51.100.1"),
            (&["10.0.0.4, 10.0.0.2"], "10.0.0.4"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn forwarded_addresses_before_an_invalid_address_are_ignored() {
        for (lines, expected) in [
            (&["198.51.100.1, unknown"][..], "10.0.0.1"),
            (&["198.51.100.1, _hidden, 10.0.0.2"], "10.0.0.2"),
            (&["198.51.100.1,"], "10.0.0.1"),
            (&["198.51.100.1", ""], "10.0.0.1"),
            (&["198.51.100.1 10.0.0.2"], "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", lines), expected, "{lines:?}");
        }
    }

    proptest! {
        /// Checks that the server ignores all text to the left of the address that the last proxy
        /// appended.
        #[test]
        fn forwarded_addresses_from_the_client_are_ignored(text in "[ -~]{0,60}") {
            let lines = [format!("{text}, 198.51.100.1")];
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            prop_assert_eq!(client("10.0.0.1", &lines), "198.51.100.1");
        }
    }
}
