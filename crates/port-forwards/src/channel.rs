//! The messages of a port forward with the WebSocket protocol `v4.channel.k8s.io`.
//!
//! The first byte of each message is the number of a channel. A connection to one port has the
//! channel 0 for data and the channel 1 for an error. The first message of each channel from the
//! cluster contains the number of the port, with the low byte first.

use bytes::{BufMut as _, Bytes, BytesMut};
use thiserror::Error;

/// The value of `Sec-WebSocket-Protocol`.
pub const PROTOCOL: &str = "v4.channel.k8s.io";

const DATA: u8 = 0;
const ERROR: u8 = 1;
/// Maximum length of an error of the cluster that the server shows, in characters.
const MAX_ERROR: usize = 1024;

/// A message from the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes from the pod.
    Data(Bytes),
    /// The connection to the pod failed. The text contains no control characters.
    Failed(String),
    /// A message without content.
    Nothing,
}

/// The cluster violates the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The number of the channel is neither 0 nor 1.
    #[error("the cluster sent a message on the unknown channel {0}")]
    Channel(u8),
    /// The first message of a channel is not the number of the requested port.
    #[error("the cluster did not confirm the port")]
    Port,
}

/// The decoder of the messages of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    port: u16,
    /// True for each channel after its first message.
    confirmed: [bool; 2],
}

impl Decoder {
    /// Creates the decoder for a connection to this port.
    pub fn new(port: u16) -> Self {
        Self {
            port,
            confirmed: [false; 2],
        }
    }

    /// Decodes the next message.
    pub fn decode(&mut self, mut message: Bytes) -> Result<Received, ProtocolError> {
        if message.is_empty() {
            return Ok(Received::Nothing);
        }
        let channel = message.split_to(1)[0];
        let confirmed = match channel {
            DATA => &mut self.confirmed[0],
            ERROR => &mut self.confirmed[1],
            other => return Err(ProtocolError::Channel(other)),
        };
        if !*confirmed {
            if message[..] != self.port.to_le_bytes() {
                return Err(ProtocolError::Port);
            }
            *confirmed = true;
            return Ok(Received::Nothing);
        }
        Ok(match channel {
            _ if message.is_empty() => Received::Nothing,
            DATA => Received::Data(message),
            _ => Received::Failed(printable(&message)),
        })
    }
}

/// Encodes bytes for the pod as a message.
pub fn encode(bytes: &[u8]) -> Bytes {
    let mut message = BytesMut::with_capacity(bytes.len() + 1);
    message.put_u8(DATA);
    message.put_slice(bytes);
    message.freeze()
}

/// Returns the beginning of a text, with spaces instead of control characters.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(MAX_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(messages: &[&'static [u8]]) -> Vec<Result<Received, ProtocolError>> {
        let mut decoder = Decoder::new(0x1F90);
        let messages = messages.iter();
        messages
            .map(|message| decoder.decode(Bytes::from_static(message)))
            .collect()
    }

    #[test]
    fn messages_of_both_channels_are_decoded() {
        let received = decode(&[
            &[0, 0x90, 0x1F],
            &[1, 0x90, 0x1F],
            &[0],
            &[],
            b"\x00HTTP/1.1",
            b"\x01connection\nrefused",
        ]);
        let data = Received::Data(Bytes::from_static(b"HTTP/1.1"));
        let failed = Received::Failed("connection refused".to_owned());
        let nothing = || Ok(Received::Nothing);
        let expected = [
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            Ok(data),
            Ok(failed),
        ];
        assert_eq!(received, expected);
    }

    #[test]
    fn message_of_an_unknown_channel_or_another_port_is_rejected() {
        assert_eq!(decode(&[&[2, 1]]), [Err(ProtocolError::Channel(2))]);
        for first in [&[0, 0x1F, 0x90][..], &[0], &[1, 0x90], &[0, 0x90, 0x1F, 0]] {
            let mut decoder = Decoder::new(0x1F90);
            let first_message = decoder.decode(Bytes::copy_from_slice(first));
            assert_eq!(first_message, Err(ProtocolError::Port), "{first:?}");
        }
    }

    #[test]
    fn error_of_the_cluster_is_shortened() {
        let mut decoder = Decoder::new(1);
        decoder.decode(Bytes::from_static(&[1, 1, 0])).unwrap();
        let mut message = vec![1];
        message.resize(10_000, b'x');
        let Ok(Received::Failed(text)) = decoder.decode(message.into()) else {
            panic!("the message is an error");
        };
        assert_eq!(text.len(), MAX_ERROR);
    }

    #[test]
    fn encoded_bytes_have_the_number_of_the_data_channel() {
        assert_eq!(encode(b"GET /"), Bytes::from_static(b"\x00GET /"));
    }
}
