//! The PROXY protocol, version 2. With this protocol, a TCP load balancer sends the client address.
//!
//! The parser reads only the address and skips the fields after the address. A malformed header is
//! an error. Source: <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>, section 2.2.

use std::io;
use std::net::{IpAddr, SocketAddr};

use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Number of header bytes before the addresses.
pub const HEAD: usize = 16;
/// Maximum number of header bytes after the first [`HEAD`] bytes. These bytes contain the addresses
/// and other fields, such as a certificate.
pub const MAX_REST: usize = 8 * 1024;
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// First byte of a TLS connection. A PROXY header never begins with this byte.
const TLS_HANDSHAKE: u8 = 0x16;

/// The reason for rejecting a PROXY header.
#[derive(Debug, Error)]
pub enum HeaderError {
    /// The connection begins neither with a TLS handshake nor with a PROXY header of version 2.
    #[error("the connection does not begin with TLS or with a PROXY header of version 2")]
    Signature,
    /// The header has an unknown version or command.
    #[error("the PROXY header has an unknown version or command ({byte:#04x})", byte = .0)]
    Command(u8),
    /// The header is not for a TCP connection.
    #[error("the PROXY header is not for TCP (address family and protocol {byte:#04x})", byte = .0)]
    Family(u8),
    /// The header is longer than [`MAX_REST`].
    #[error(
        "the PROXY header has {bytes} bytes after its fixed part; the maximum is {MAX_REST}",
        bytes = .0
    )]
    TooLong(usize),
    /// The header is shorter than its addresses.
    #[error("the PROXY header is too short for its addresses")]
    TooShort,
    /// Reading from the connection failed.
    #[error("cannot read the PROXY header")]
    Read(#[from] io::Error),
}

/// Reads the client address that a proxy sends at the beginning of a connection. Returns `None` if
/// the connection begins with TLS, or if the proxy itself is the client.
pub(super) async fn client(stream: &mut TcpStream) -> Result<Option<SocketAddr>, HeaderError> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] == TLS_HANDSHAKE {
        return Ok(None);
    }
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).await?;
    let mut rest = vec![0; rest_length(&head)?];
    stream.read_exact(&mut rest).await?;
    parse(&head, &rest)
}

/// Returns the number of header bytes after the first [`HEAD`] bytes.
pub fn rest_length(head: &[u8; HEAD]) -> Result<usize, HeaderError> {
    if head[..12] != SIGNATURE {
        return Err(HeaderError::Signature);
    }
    let length = usize::from(u16::from_be_bytes([head[14], head[15]]));
    if length > MAX_REST {
        return Err(HeaderError::TooLong(length));
    }
    Ok(length)
}

/// Parses the client address from a header. Returns `None` if the proxy itself is the client, or if
/// the header contains no address.
pub fn parse(head: &[u8; HEAD], rest: &[u8]) -> Result<Option<SocketAddr>, HeaderError> {
    if rest_length(head)? != rest.len() {
        return Err(HeaderError::TooShort);
    }
    match (head[12], head[13]) {
        // The header has the command LOCAL, or the command PROXY for an unknown kind of connection.
        (0x20, _) | (0x21, 0x00) => Ok(None),
        (0x21, 0x11) => address::<4>(rest).map(Some),
        (0x21, 0x21) => address::<16>(rest).map(Some),
        (0x21, family) => Err(HeaderError::Family(family)),
        (command, _) => Err(HeaderError::Command(command)),
    }
}

/// Parses the source address and port. The order in the header is: source address, destination
/// address, source port, destination port.
fn address<const N: usize>(rest: &[u8]) -> Result<SocketAddr, HeaderError>
where
    IpAddr: From<[u8; N]>,
{
    let short = || HeaderError::TooShort;
    let source: &[u8; N] = rest.first_chunk().ok_or_else(short)?;
    let ports: &[u8; 4] = rest
        .get(2 * N..)
        .and_then(<[u8]>::first_chunk)
        .ok_or_else(short)?;
    let port = u16::from_be_bytes([ports[0], ports[1]]);
    Ok(SocketAddr::new(IpAddr::from(*source).to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> ([u8; HEAD], Vec<u8>) {
        let mut head = [0; HEAD];
        head[..12].copy_from_slice(&SIGNATURE);
        (head[12], head[13]) = (command, family);
        head[14..].copy_from_slice(&u16::try_from(rest.len()).unwrap().to_be_bytes());
        (head, rest.to_vec())
    }

    fn parsed(command: u8, family: u8, rest: &[u8]) -> Result<Option<SocketAddr>, HeaderError> {
        let (head, rest) = header(command, family, rest);
        parse(&head, &rest)
    }

    #[test]
    fn proxy_header_contains_the_client_address_of_a_tcp_connection() {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0x12, 0x34, 0x01, 0xbb];
        let client = |address: &str| Some(address.parse().unwrap());
        assert_eq!(parsed(0x21, 0x11, &v4).unwrap(), client("192.0.2.1:4660"));
        let mut v6 = [0; 36];
        v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        (v6[15], v6[33]) = (7, 80);
        assert_eq!(parsed(0x21, 0x21, &v6).unwrap(), client("[2001:db8::7]:80"));
        let with_fields = [&v4[..], &[0x04, 0, 1, 0]].concat();
        let named = parsed(0x21, 0x11, &with_fields).unwrap();
        assert_eq!(named, client("192.0.2.1:4660"));
        assert_eq!(parsed(0x20, 0x11, &v4).unwrap(), None, "a health check");
        assert_eq!(parsed(0x21, 0x00, &[]).unwrap(), None, "an unknown client");
    }

    #[test]
    fn malformed_proxy_protocol_header_is_rejected() {
        for (command, family, rest) in [
            (0x21, 0x11, &[0; 11][..]),
            (0x21, 0x21, &[0; 35]),
            (0x21, 0x12, &[0; 12]),
            (0x21, 0x31, &[0; 216]),
            (0x22, 0x11, &[0; 12]),
            (0x11, 0x11, &[0; 12]),
            (0x21, 0x11, &[0; MAX_REST + 1]),
        ] {
            assert!(parsed(command, family, rest).is_err(), "{command} {family}");
        }
        let (mut head, rest) = header(0x21, 0x11, &[0; 12]);
        head[11] = b' ';
        assert!(matches!(parse(&head, &rest), Err(HeaderError::Signature)));
    }
}
