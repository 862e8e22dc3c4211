//! Binds the listener on machines with and without IPv6.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use tokio::net::TcpListener;

/// Listens on this address. If the address is `[::]` and the machine has no IPv6, listens on all
/// IPv4 addresses.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let error = match TcpListener::bind(address).await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    let Some(instead) = without_ipv6(address, &error) else {
        return Err(error);
    };
    tracing::info!(%address, %instead, %error, "no IPv6 on this machine; listening on IPv4 only");
    TcpListener::bind(instead).await
}

/// Returns the IPv4 replacement for the address `[::]` if the system has no IPv6. The Helm chart
/// always sets `[::]`.
fn without_ipv6(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
    let absent = matches!(
        Errno::from_io_error(error),
        Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL)
    );
    let every = address.ip() == Ipv6Addr::UNSPECIFIED;
    (absent && every).then(|| (Ipv4Addr::UNSPECIFIED, address.port()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspecified_ipv6_address_falls_back_to_ipv4() {
        let decided = |address: &str, error: Errno| {
            without_ipv6(address.parse().unwrap(), &error.into()).map(|other| other.to_string())
        };
        let instead = Some("0.0.0.0:8443".to_owned());
        assert_eq!(decided("[::]:8443", Errno::AFNOSUPPORT), instead);
        assert_eq!(decided("[::]:8443", Errno::ADDRNOTAVAIL), instead);
        for (address, error) in [
            ("[::]:8443", Errno::ADDRINUSE),
            ("[::]:443", Errno::ACCESS),
            ("[::1]:8443", Errno::ADDRNOTAVAIL),
            ("[2001:db8::1]:8443", Errno::AFNOSUPPORT),
            ("192.0.2.1:8443", Errno::ADDRNOTAVAIL),
        ] {
            assert_eq!(decided(address, error), None, "{address} {error:?}");
        }
    }
}
