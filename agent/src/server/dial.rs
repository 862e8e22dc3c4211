//! DNS, TCP and TLS to the server, each failure told apart.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use drover_tunnel::ReadAhead;
use jiff::{SignedDuration, Timestamp};
use rustls::CertificateError;
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{HopError, Server};

/// Most time to resolve the server's name.
const DNS_TIMEOUT: Duration = Duration::from_secs(10);
/// Most time for TCP to one address.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// Most time for the answer of an HTTP proxy, which dials the server meanwhile.
const PROXY_TIMEOUT: Duration = Duration::from_secs(15);
/// Most time for the TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
const MOST_ADDRESSES: usize = 8;

/// How the clocks of two machines differ, as far as one can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew(SignedDuration);

impl Skew {
    /// Differences that explain nothing are none.
    pub fn between(ours: Timestamp, theirs: Timestamp) -> Option<Self> {
        let difference = ours.duration_since(theirs);
        (difference.abs() > SignedDuration::from_secs(60)).then_some(Self(difference))
    }
}

impl std::fmt::Display for Skew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.abs().as_secs();
        let side = if self.0.is_negative() {
            "behind"
        } else {
            "ahead of"
        };
        write!(
            f,
            "this machine's clock is {seconds} s {side} the server's: set it right"
        )
    }
}

/// Why there is no verified connection to the server.
#[derive(Debug, Error)]
pub enum DialError {
    /// The name has no address.
    #[error(
        "the name {host} cannot be resolved ({why}): check DNS in this cluster, the server-url setting and HTTPS_PROXY"
    )]
    Dns {
        /// The name.
        host: String,
        /// What the resolver said.
        why: String,
    },
    /// Something answered that nothing listens.
    #[error("{address} refuses connections: is the server running there, and the port right?")]
    TcpRefused {
        /// Where.
        address: SocketAddr,
    },
    /// Nothing answered.
    #[error(
        "{address} does not answer: check routes and firewalls from this cluster's nodes to it"
    )]
    TcpTimeout {
        /// Where.
        address: SocketAddr,
    },
    /// Another failure of TCP.
    #[error("no connection to {address}: {source}")]
    Tcp {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The HTTP proxy opened no connection to the server.
    #[error("no way through the HTTP proxy at {address}: {source}")]
    Proxy {
        /// Where the proxy is.
        address: SocketAddr,
        /// Its answer.
        #[source]
        source: HopError,
    },
    /// The certificate was not issued by a root of the manifest.
    #[error(
        "the server's certificate is not issued by the CA in the manifest: the server's CA has changed, or something between intercepts TLS; import the cluster again if the change was meant"
    )]
    TlsUnknownAuthority,
    /// The certificate is for other names.
    #[error(
        "the server's certificate is not for {host}: set the server-url setting to a name the certificate has, or give the server a certificate for it"
    )]
    TlsNameMismatch {
        /// The name dialled.
        host: String,
    },
    /// The certificate's time is over.
    #[error(
        "the server's certificate has expired, or this machine's clock is ahead: it says {now}"
    )]
    TlsExpired {
        /// This machine's time.
        now: Timestamp,
    },
    /// The certificate's time has not begun.
    #[error(
        "the server's certificate is not valid yet: this machine's clock is behind, it says {now}"
    )]
    TlsNotYetValid {
        /// This machine's time.
        now: Timestamp,
    },
    /// Another failure of TLS.
    #[error("no TLS with {address}: {why}")]
    Tls {
        /// Where.
        address: SocketAddr,
        /// What went wrong.
        why: String,
    },
}

impl DialError {
    /// PascalCase cause, stable across releases.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "DNSFailed",
            Self::TcpRefused { .. } => "ConnectionRefused",
            Self::TcpTimeout { .. } => "ConnectionTimedOut",
            Self::Tcp { .. } => "ConnectionFailed",
            Self::Proxy { .. } => "ProxyFailed",
            Self::TlsUnknownAuthority => "TLSUnknownAuthority",
            Self::TlsNameMismatch { .. } => "TLSNameMismatch",
            Self::TlsExpired { .. } => "TLSCertificateExpired",
            Self::TlsNotYetValid { .. } => "TLSCertificateNotYetValid",
            Self::Tls { .. } => "TLSFailed",
        }
    }
}

/// Connects from `source`, if it is of the address's family.
async fn connect(source: Option<IpAddr>, address: SocketAddr) -> io::Result<TcpStream> {
    match source {
        Some(source) if source.is_ipv4() == address.is_ipv4() => {
            let socket = match address {
                SocketAddr::V4(_) => TcpSocket::new_v4(),
                SocketAddr::V6(_) => TcpSocket::new_v6(),
            }?;
            socket.bind(SocketAddr::new(source, 0))?;
            socket.connect(address).await
        }
        _ => TcpStream::connect(address).await,
    }
}

impl Server {
    /// A fresh, verified connection.
    pub async fn dial(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, DialError> {
        let (tcp, address) = self.connected().await?;
        let connector = TlsConnector::from(self.tls.clone());
        let connecting = connector.connect(self.name.clone(), ReadAhead::new(tcp));
        match tokio::time::timeout(TLS_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.tls_error(address, &error)),
            Err(_) => Err(DialError::Tls {
                address,
                why: format!("the handshake took over {} s", TLS_TIMEOUT.as_secs()),
            }),
        }
    }

    /// TCP to the server: its own address, or that of the proxy on the way.
    async fn connected(&self) -> Result<(TcpStream, SocketAddr), DialError> {
        let binding = self.binding();
        let proxy = self.proxy.as_ref();
        let Some(hop) = proxy.and_then(|proxy| proxy.of(&binding.authority())) else {
            return self.tcp(&binding.host, binding.port).await;
        };
        let (host, port) = hop.address();
        let (stream, address) = self.tcp(&host, port).await?;
        let silent = || HopError(format!("no answer in {} s", PROXY_TIMEOUT.as_secs()));
        let opened = tokio::time::timeout(PROXY_TIMEOUT, hop.open(stream))
            .await
            .unwrap_or_else(|_| Err(silent()));
        let stream = opened.map_err(|source| DialError::Proxy { address, source })?;
        Ok((stream, address))
    }

    /// Tries the name's addresses in order; the last failure tells.
    async fn tcp(&self, host: &str, port: u16) -> Result<(TcpStream, SocketAddr), DialError> {
        let dns = |why: String| DialError::Dns {
            host: host.to_owned(),
            why,
        };
        let lookup = tokio::net::lookup_host((host, port));
        let addresses = tokio::time::timeout(DNS_TIMEOUT, lookup)
            .await
            .map_err(|_| dns(format!("no answer within {} s", DNS_TIMEOUT.as_secs())))?
            .map_err(|error| dns(error.to_string()))?;
        let mut last = dns("it has no address".to_owned());
        for address in addresses.take(MOST_ADDRESSES) {
            match tokio::time::timeout(TCP_TIMEOUT, connect(self.source, address)).await {
                Ok(Ok(stream)) => {
                    // Without it small frames wait for acknowledgements; with no such option the
                    // connection still works.
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, address));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    last = DialError::TcpRefused { address };
                }
                Ok(Err(source)) => last = DialError::Tcp { address, source },
                Err(_) => last = DialError::TcpTimeout { address },
            }
        }
        Err(last)
    }

    fn tls_error(&self, address: SocketAddr, error: &io::Error) -> DialError {
        let tls = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let now = Timestamp::now();
        match tls {
            Some(rustls::Error::InvalidCertificate(why)) => match why {
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    DialError::TlsUnknownAuthority
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => DialError::TlsNameMismatch {
                    host: self.binding().host.clone(),
                },
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    DialError::TlsExpired { now }
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    DialError::TlsNotYetValid { now }
                }
                other => DialError::Tls {
                    address,
                    why: other.to_string(),
                },
            },
            _ => DialError::Tls {
                address,
                why: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_dialled_from_the_address_that_was_chosen() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let v6 = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
        for (source, wanted) in [
            (Some(IpAddr::from([127, 9, 8, 7])), [127, 9, 8, 7]),
            (None, [127, 0, 0, 1]),
            (Some(v6), [127, 0, 0, 1]),
        ] {
            let _ours = connect(source, address).await.unwrap();
            let (_, peer) = listener.accept().await.unwrap();
            assert_eq!(peer.ip(), IpAddr::from(wanted));
        }
    }

    #[test]
    fn only_a_difference_that_matters_is_a_skew() {
        let at = |s| Timestamp::from_second(s).unwrap();
        assert_eq!(Skew::between(at(1000), at(1030)), None);
        let ahead = Skew::between(at(1000), at(100)).unwrap().to_string();
        assert!(ahead.contains("900 s ahead of"), "{ahead}");
        let behind = Skew::between(at(100), at(1000)).unwrap().to_string();
        assert!(behind.contains("900 s behind"), "{behind}");
    }
}
