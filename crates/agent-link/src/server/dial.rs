//! DNS, TCP and TLS to the server. Each cause of a failure has a separate error variant.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use drover_tunnel::{ReadAhead, TLS_BUFFER};
use jiff::{SignedDuration, Timestamp};
use rustix::net::sockopt;
use rustls::CertificateError;
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ProxyError, Server};

/// Timeout of the DNS lookup.
const DNS_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the TCP connection to one address.
const TCP_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the HTTP proxy's response to `CONNECT`. The time includes the proxy's connection to
/// the server.
const PROXY_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout of the TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// TCP keep-alive: idle time, interval and number of probes.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);
/// Maximum number of addresses that the agent tries for one host name.
const MAX_ADDRESSES: usize = 8;

/// Difference between the clocks of this machine and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSkew(SignedDuration);

impl ClockSkew {
    /// Returns the difference between two clocks if the difference exceeds a minute. The server
    /// accepts a difference of up to a minute.
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
            "this machine's clock is {seconds} s {side} the server's: correct it"
        )
    }
}

/// The reason why the agent cannot open a verified connection to the server.
#[derive(Debug, Error)]
pub enum DialError {
    /// DNS returned no address for the server's name.
    #[error(
        "cannot resolve {host} ({detail}): check DNS in this cluster, the server-url setting and HTTPS_PROXY"
    )]
    Dns {
        /// Host name of the server.
        host: String,
        /// Message of the resolver.
        detail: String,
    },
    /// The address refused the connection.
    #[error(
        "{address} refuses connections: check that the server runs there and that the port is correct"
    )]
    TcpRefused {
        /// Address of the server.
        address: SocketAddr,
    },
    /// The address did not respond in time.
    #[error(
        "{address} does not respond: check the routes and firewalls between this cluster's nodes \
         and the server"
    )]
    TcpTimeout {
        /// Address of the server.
        address: SocketAddr,
    },
    /// The TCP connection failed for a reason other than refusal by the address or a timeout.
    #[error("cannot connect to {address}: {source}")]
    Tcp {
        /// Address of the server.
        address: SocketAddr,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The HTTP proxy did not connect to the server.
    #[error("cannot connect through the HTTP proxy at {address}: {source}")]
    Proxy {
        /// IP address and port of the HTTP proxy.
        address: SocketAddr,
        /// Error of the proxy.
        #[source]
        source: ProxyError,
    },
    /// The server's certificate is not issued by a CA certificate in the manifest.
    #[error(
        "the server's certificate is not issued by the CA in the manifest: the server's CA has \
         changed, or a proxy intercepts TLS; if the CA has changed, import the cluster again"
    )]
    TlsUnknownAuthority,
    /// The server's certificate does not contain the host name that the agent dialled.
    #[error(
        "the server's certificate does not contain the name {host}: set the server-url setting \
         to a name in the certificate, or issue a certificate for {host}"
    )]
    TlsNameMismatch {
        /// Host name that the agent dialled.
        host: String,
    },
    /// The server's certificate has expired.
    #[error(
        "the server's certificate has expired, or this machine's clock is fast (time of this \
         machine: {now})"
    )]
    TlsExpired {
        /// Current time of this machine.
        now: Timestamp,
    },
    /// The server's certificate is not valid yet.
    #[error(
        "the server's certificate is not valid yet, or this machine's clock is slow (time of \
         this machine: {now})"
    )]
    TlsNotYetValid {
        /// Current time of this machine.
        now: Timestamp,
    },
    /// The TLS handshake failed for a reason without a separate variant.
    #[error("cannot establish TLS with {address}: {detail}")]
    Tls {
        /// Address of the server.
        address: SocketAddr,
        /// Error message of rustls.
        detail: String,
    },
}

impl DialError {
    /// Returns the PascalCase reason, which is stable across releases.
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

/// Opens a TCP connection to `address`. If `source` has the same address family, binds the
/// connection to `source`.
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

/// Enables the probes that detect a lost server while no data is sent.
fn enable_keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    let (idle, interval, probes) = KEEP_ALIVE;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, idle)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, probes)
}

impl Server {
    /// Opens a TLS connection to the server and verifies the certificate.
    pub async fn dial(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, DialError> {
        let (tcp, address) = self.connect_tcp().await?;
        let connector = TlsConnector::from(self.tls.clone());
        let connecting =
            connector.connect_with(self.name.clone(), ReadAhead::new(tcp), |connection| {
                connection.set_buffer_limit(Some(TLS_BUFFER));
            });
        match tokio::time::timeout(TLS_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.tls_error(address, &error)),
            Err(_) => Err(DialError::Tls {
                address,
                detail: format!("the handshake took over {} s", TLS_TIMEOUT.as_secs()),
            }),
        }
    }

    /// Opens a TCP connection to the server, through the proxy if one is configured.
    async fn connect_tcp(&self) -> Result<(TcpStream, SocketAddr), DialError> {
        let proxy = self.proxy.as_ref();
        let Some(route) = proxy.and_then(|proxy| proxy.route(&self.authority())) else {
            return self.tcp(&self.host, self.port).await;
        };
        let (host, port) = route.address();
        let (stream, address) = self.tcp(&host, port).await?;
        let timed_out = || ProxyError(format!("no response within {} s", PROXY_TIMEOUT.as_secs()));
        let opened = tokio::time::timeout(PROXY_TIMEOUT, route.open(stream))
            .await
            .unwrap_or_else(|_| Err(timed_out()));
        let stream = opened.map_err(|source| DialError::Proxy { address, source })?;
        Ok((stream, address))
    }

    /// Tries the addresses of a name in order. Returns the last error if all attempts fail.
    async fn tcp(&self, host: &str, port: u16) -> Result<(TcpStream, SocketAddr), DialError> {
        let dns = |detail: String| DialError::Dns {
            host: host.to_owned(),
            detail,
        };
        let lookup = tokio::net::lookup_host((host, port));
        let addresses = tokio::time::timeout(DNS_TIMEOUT, lookup)
            .await
            .map_err(|_| dns(format!("no response within {} s", DNS_TIMEOUT.as_secs())))?
            .map_err(|error| dns(error.to_string()))?;
        let mut last = dns("it has no address".to_owned());
        for address in addresses.take(MAX_ADDRESSES) {
            match tokio::time::timeout(TCP_TIMEOUT, connect(self.source, address)).await {
                Ok(Ok(stream)) => {
                    // The option avoids a delay of small frames. The connection also works without
                    // the option.
                    let _ = stream.set_nodelay(true);
                    if self.keep_alive {
                        let enabled = enable_keep_alive(&stream).map_err(io::Error::from);
                        enabled.map_err(|source| DialError::Tcp { address, source })?;
                    }
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
                    host: self.host.to_string(),
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
    async fn source_address_is_bound_only_for_servers_of_the_same_ip_family() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let v6 = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
        for (source, expected) in [
            (Some(IpAddr::from([127, 9, 8, 7])), [127, 9, 8, 7]),
            (None, [127, 0, 0, 1]),
            (Some(v6), [127, 0, 0, 1]),
        ] {
            let _ours = connect(source, address).await.unwrap();
            let (_, peer) = listener.accept().await.unwrap();
            assert_eq!(peer.ip(), IpAddr::from(expected));
        }
    }

    #[test]
    fn clock_skew_below_a_minute_is_not_reported() {
        let at = |s| Timestamp::from_second(s).unwrap();
        assert_eq!(ClockSkew::between(at(1000), at(1030)), None);
        let ahead = ClockSkew::between(at(1000), at(100)).unwrap().to_string();
        assert!(ahead.contains("900 s ahead of"), "{ahead}");
        let behind = ClockSkew::between(at(100), at(1000)).unwrap().to_string();
        assert!(behind.contains("900 s behind"), "{behind}");
    }
}
