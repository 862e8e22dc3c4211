//! The binary packet protocol (RFC 4253, section 6).

use std::io::{Read, Write};

use super::SshError;
use super::cipher::Cipher;
use super::message;
use super::wire::Reader;

/// The longest packet that the client reads, in bytes.
const MAX_PACKET: usize = 256 << 10;

/// A stream of packets in both directions.
#[derive(Debug)]
pub(crate) struct Packets<S> {
    pub(super) stream: S,
    sending: Direction,
    receiving: Direction,
}

#[derive(Debug)]
struct Direction {
    sequence: u32,
    cipher: Cipher,
}

impl Direction {
    const fn new() -> Self {
        Self {
            sequence: 0,
            cipher: Cipher::Plain,
        }
    }
}

impl<S: Read + Write> Packets<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self {
            stream,
            sending: Direction::new(),
            receiving: Direction::new(),
        }
    }

    /// Uses new keys for the packets that the client sends.
    pub(super) fn set_sending(&mut self, cipher: Cipher, reset_sequence: bool) {
        self.sending.cipher = cipher;
        if reset_sequence {
            self.sending.sequence = 0;
        }
    }

    /// Uses new keys for the packets that the client receives.
    pub(super) fn set_receiving(&mut self, cipher: Cipher, reset_sequence: bool) {
        self.receiving.cipher = cipher;
        if reset_sequence {
            self.receiving.sequence = 0;
        }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), SshError> {
        let cipher = &mut self.sending.cipher;
        let block = cipher.block();
        // The blocks cover the length if it is encrypted, and in plain packets.
        let with_length = match cipher {
            Cipher::Gcm { .. }
            | Cipher::Counter {
                encrypt_then_mac: true,
                ..
            } => 0,
            _ => 4,
        };
        let unpadded = with_length + 1 + payload.len();
        let mut padding = block - unpadded % block;
        if padding < 4 {
            padding += block;
        }
        let length = u32::try_from(1 + payload.len() + padding)
            .map_err(|_| SshError::protocol("a message is too long"))?;
        let mut packet = Vec::with_capacity(payload.len() + 64);
        packet.extend_from_slice(&length.to_be_bytes());
        // The padding has fewer than 32 bytes.
        packet.push(u8::try_from(padding).unwrap_or(u8::MAX));
        packet.extend_from_slice(payload);
        let mut random = [0; 2 * super::cipher::BLOCK];
        aws_lc_rs::rand::fill(&mut random).map_err(|_| SshError::protocol("no random numbers"))?;
        packet.extend_from_slice(&random[..padding]);
        cipher.seal(self.sending.sequence, &mut packet)?;
        self.sending.sequence = self.sending.sequence.wrapping_add(1);
        self.stream.write_all(&packet)?;
        self.stream.flush()?;
        Ok(())
    }

    /// Receives the next message, without the messages that have no effect.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, SshError> {
        loop {
            let payload = self.receive_any()?;
            match payload.first() {
                Some(&message::IGNORE | &message::DEBUG | &message::UNIMPLEMENTED) => {}
                Some(_) => return Ok(payload),
                None => return Err(SshError::protocol("a message is empty")),
            }
        }
    }

    /// Receives the next message.
    pub(crate) fn receive_any(&mut self) -> Result<Vec<u8>, SshError> {
        let cipher = &mut self.receiving.cipher;
        let first = if cipher.has_plain_length() {
            4
        } else {
            cipher.block()
        };
        let mut packet = vec![0; first];
        self.stream.read_exact(&mut packet)?;
        cipher.open_first(&mut packet)?;
        let length = usize::try_from(Reader::new(&packet).number()?).unwrap_or(usize::MAX);
        let covered = if first == 4 && !matches!(cipher, Cipher::Plain) {
            length
        } else {
            length.saturating_add(4)
        };
        if !(5..=MAX_PACKET).contains(&length)
            || length + 4 < first
            || covered % cipher.block() != 0
        {
            return Err(SshError::protocol("a packet has an invalid length"));
        }
        packet.resize(4 + length, 0);
        self.stream.read_exact(&mut packet[first..])?;
        let mut tag = vec![0; cipher.tag_len()];
        self.stream.read_exact(&mut tag)?;
        cipher.open(self.receiving.sequence, &mut packet, first, &tag)?;
        self.receiving.sequence = self.receiving.sequence.wrapping_add(1);
        let padding = usize::from(packet[4]);
        let end = packet
            .len()
            .checked_sub(padding)
            .filter(|end| *end > 5)
            .ok_or_else(|| SshError::protocol("a packet has an invalid padding"))?;
        let payload = packet[5..end].to_vec();
        if payload.first() == Some(&message::DISCONNECT) {
            let mut fields = Reader::new(&payload[1..]);
            fields.number()?;
            let text = String::from_utf8_lossy(fields.string()?).into_owned();
            return Err(SshError::Disconnected(text));
        }
        Ok(payload)
    }
}
