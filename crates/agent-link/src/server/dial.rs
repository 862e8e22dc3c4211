//! DNS, TCP and TLS to the server, with an error for each failure.

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

use super::{ProxyError, Server};

/// Timeout of DNS.
const DNS_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of TCP to one address.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the HTTP proxy's response, which includes its own connection to the server.
const PROXY_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout of the TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of addresses of one name to try.
const MAX_ADDRESSES: usize = 8;

/// Difference between the clocks of this machine and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSkew(SignedDuration);

impl ClockSkew {
    /// `None` up to a minute, which no check of the server depends on.
    pub fn between(ours: Timestamp, theirs: Timestamp) -> Option<Self> {
        let difference = ours.duration_since(theirs);
        (difference.abs() > SignedDuration::from_secs(60)).then_some(Self(difference))
    }
}

impl std::fmt::Display for ClockSkew {
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

/// Cannot open a verified connection to the server.
#[derive(Debug, Error)]
pub enum DialError {
    /// The name has no address.
    #[error(
        "the name {host} cannot be resolved ({detail}): check DNS in this cluster, the server-url setting and HTTPS_PROXY"
    )]
    Dns {
        /// The name.
        host: String,
        /// The resolver's message.
        detail: String,
    },
    /// The address refused the connection.
    #[error("{address} refuses connections: is the server running there, and the port right?")]
    TcpRefused {
        /// The address.
        address: SocketAddr,
    },
    /// The address did not respond.
    #[error(
        "{address} does not answer: check routes and firewalls from this cluster's nodes to it"
    )]
    TcpTimeout {
        /// The address.
        address: SocketAddr,
    },
    /// Another failure of TCP.
    #[error("cannot connect to {address}: {source}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The HTTP proxy did not connect to the server.
    #[error("cannot connect through the HTTP proxy at {address}: {source}")]
    Proxy {
        /// The proxy's address.
        address: SocketAddr,
        /// The proxy's answer.
        #[source]
        source: ProxyError,
    },
    /// No root of the manifest issued the certificate.
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
    /// The certificate has expired.
    #[error(
        "the server's certificate has expired, or this machine's clock is ahead: it says {now}"
    )]
    TlsExpired {
        /// This machine's time.
        now: Timestamp,
    },
    /// The certificate is not valid yet.
    #[error(
        "the server's certificate is not valid yet: this machine's clock is behind, it says {now}"
    )]
    TlsNotYetValid {
        /// This machine's time.
        now: Timestamp,
    },
    /// Another failure of TLS.
    #[error("cannot establish TLS with {address}: {detail}")]
    Tls {
        /// The address.
        address: SocketAddr,
        /// The error.
        detail: String,
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

/// Connects from `source` if both addresses have the same family.
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
    /// Opens a verified connection.
    pub async fn dial(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, DialError> {
        let (tcp, address) = self.connect_tcp().await?;
        let connector = TlsConnector::from(self.tls.clone());
        let connecting = connector.connect(self.name.clone(), ReadAhead::new(tcp));
        match tokio::time::timeout(TLS_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.tls_error(address, &error)),
            Err(_) => Err(DialError::Tls {
                address,
                detail: format!("the handshake took over {} s", TLS_TIMEOUT.as_secs()),
            }),
        }
    }

    /// Opens TCP to the server, through the proxy if there is one.
    async fn connect_tcp(&self) -> Result<(TcpStream, SocketAddr), DialError> {
        let binding = self.binding();
        let proxy = self.proxy.as_ref();
        let Some(route) = proxy.and_then(|proxy| proxy.route(&binding.authority())) else {
            return self.tcp(&binding.host, binding.port).await;
        };
        let (host, port) = route.address();
        let (stream, address) = self.tcp(&host, port).await?;
        let timed_out = || ProxyError(format!("no answer in {} s", PROXY_TIMEOUT.as_secs()));
        let opened = tokio::time::timeout(PROXY_TIMEOUT, route.open(stream))
            .await
            .unwrap_or_else(|_| Err(timed_out()));
        let stream = opened.map_err(|source| DialError::Proxy { address, source })?;
        Ok((stream, address))
    }

    /// Tries the name's addresses in order; returns the last error.
    async fn tcp(&self, host: &str, port: u16) -> Result<(TcpStream, SocketAddr), DialError> {
        let dns = |detail: String| DialError::Dns {
            host: host.to_owned(),
            detail,
        };
        let lookup = tokio::net::lookup_host((host, port));
        let addresses = tokio::time::timeout(DNS_TIMEOUT, lookup)
            .await
            .map_err(|_| dns(format!("no answer within {} s", DNS_TIMEOUT.as_secs())))?
            .map_err(|error| dns(error.to_string()))?;
        let mut last = dns("it has no address".to_owned());
        for address in addresses.take(MAX_ADDRESSES) {
            match tokio::time::timeout(TCP_TIMEOUT, connect(self.source, address)).await {
                Ok(Ok(stream)) => {
                    // Avoids a delay of small frames. The connection works without the option too.
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
            Some(rustls::Error::InvalidCertificate(cause)) => match cause {
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
                    detail: other.to_string(),
                },
            },
            _ => DialError::Tls {
                address,
                detail: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn source_address_is_used_for_servers_of_the_same_family() {
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
    fn clock_skew_ignores_differences_below_a_minute() {
        let at = |s| Timestamp::from_second(s).unwrap();
        assert_eq!(ClockSkew::between(at(1000), at(1030)), None);
        let ahead = ClockSkew::between(at(1000), at(100)).unwrap().to_string();
        assert!(ahead.contains("900 s ahead of"), "{ahead}");
        let behind = ClockSkew::between(at(100), at(1000)).unwrap().to_string();
        assert!(behind.contains("900 s behind"), "{behind}");
    }
}
