//! The request for a pack, and the pack in the answer.

use std::io::Read;

use super::packet::{self, Packet};
use super::{AGENT, ProtocolError};

/// The pack that a client asks for: one commit without its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackRequest {
    /// The commit.
    pub(crate) want: String,
    /// A commit without history that the client has. The pack lacks its objects, and is thin: it
    /// can contain differences to these objects.
    ///
    /// Without thin packs, git sends all objects of a commit without history.
    pub(crate) have: Option<String>,
}

/// Writes a request of version 2.
pub(crate) fn write_v2(request: &PackRequest) -> Vec<u8> {
    let mut message = Vec::new();
    packet::write_line(&mut message, "command=fetch");
    packet::write_line(&mut message, &format!("agent={AGENT}"));
    packet::write_line(&mut message, "object-format=sha1");
    packet::write_delimiter(&mut message);
    for argument in ["no-progress", "ofs-delta"] {
        packet::write_line(&mut message, argument);
    }
    packet::write_line(&mut message, &format!("want {}", request.want));
    if let Some(have) = &request.have {
        packet::write_line(&mut message, "thin-pack");
        packet::write_line(&mut message, &format!("shallow {have}"));
    }
    packet::write_line(&mut message, "deepen 1");
    if let Some(have) = &request.have {
        packet::write_line(&mut message, &format!("have {have}"));
    }
    packet::write_line(&mut message, "done");
    packet::write_flush(&mut message);
    message
}

/// Writes a request of version 0.
pub(crate) fn write_v0(request: &PackRequest) -> Vec<u8> {
    let mut message = Vec::new();
    let thin = if request.have.is_some() {
        "thin-pack "
    } else {
        ""
    };
    let capabilities = format!("{thin}shallow no-progress ofs-delta side-band-64k agent={AGENT}");
    packet::write_line(
        &mut message,
        &format!("want {} {capabilities}", request.want),
    );
    if let Some(have) = &request.have {
        packet::write_line(&mut message, &format!("shallow {have}"));
    }
    packet::write_line(&mut message, "deepen 1");
    packet::write_flush(&mut message);
    if let Some(have) = &request.have {
        packet::write_line(&mut message, &format!("have {have}"));
    }
    packet::write_line(&mut message, "done");
    message
}

/// Most lines before the pack.
const MAX_LINES: usize = 10_000;

/// Reads the answer of version 2 up to the first byte of the pack.
pub(crate) fn skip_to_pack_v2(stream: &mut dyn Read) -> Result<(), ProtocolError> {
    for _ in 0..MAX_LINES {
        match packet::read_required(stream)? {
            Packet::Data(payload) if payload == b"packfile\n" || payload == b"packfile" => {
                return Ok(());
            }
            Packet::Data(_) | Packet::Delimiter => {}
            _ => return Err(ProtocolError::invalid("the answer has no pack")),
        }
    }
    Err(ProtocolError::invalid(
        "the answer has too many lines before the pack",
    ))
}

/// Reads the answer of version 0 up to the first byte of the pack.
pub(crate) fn skip_to_pack_v0(stream: &mut dyn Read) -> Result<(), ProtocolError> {
    for _ in 0..MAX_LINES {
        match packet::read_required(stream)? {
            Packet::Data(payload)
                if payload.starts_with(b"NAK") || payload.starts_with(b"ACK ") =>
            {
                return Ok(());
            }
            // The lines `shallow` and `unshallow`, and their end.
            Packet::Data(payload)
                if payload.starts_with(b"shallow ") || payload.starts_with(b"unshallow ") => {}
            Packet::Flush => {}
            _ => return Err(ProtocolError::invalid("the answer has no pack")),
        }
    }
    Err(ProtocolError::invalid(
        "the answer has too many lines before the pack",
    ))
}

/// The bytes of a pack in an answer with side bands.
pub(crate) struct PackStream<R> {
    stream: R,
    payload: Vec<u8>,
    ended: bool,
}

impl<R: Read> PackStream<R> {
    pub(crate) const fn new(stream: R) -> Self {
        Self {
            stream,
            payload: Vec::new(),
            ended: false,
        }
    }

    /// Returns the next bytes of the pack, or `None` at its end.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<&[u8]>, ProtocolError> {
        while !self.ended {
            let payload = match packet::read_required(&mut self.stream)? {
                Packet::Flush | Packet::ResponseEnd => break,
                Packet::Data(payload) => payload,
                Packet::Delimiter => {
                    return Err(ProtocolError::invalid("the pack has a delimiter"));
                }
            };
            match payload.first() {
                Some(1) => {
                    self.payload = payload;
                    return Ok(Some(&self.payload[1..]));
                }
                // A progress message, or an empty packet that keeps the connection alive.
                Some(2) | None => {}
                Some(3) => {
                    let message = String::from_utf8_lossy(&payload[1..]).into_owned();
                    return Err(ProtocolError::Server(message));
                }
                Some(_) => return Err(ProtocolError::invalid("the pack has an unknown side band")),
            }
        }
        self.ended = true;
        Ok(None)
    }
}
