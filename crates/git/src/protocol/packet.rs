//! Packet lines: a length with four hexadecimal digits, and a payload.

use std::io::Read;

use super::ProtocolError;

/// The longest packet, without its length.
const MAX_PAYLOAD: usize = 65_516;

/// One packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// `0000`, the end of a message.
    Flush,
    /// `0001`, the end of a section.
    Delimiter,
    /// `0002`, the end of an answer without state.
    ResponseEnd,
    /// A payload.
    Data(Vec<u8>),
}

/// Reads the next packet. Returns `None` at the end of the stream.
pub(crate) fn read(stream: &mut dyn Read) -> Result<Option<Packet>, ProtocolError> {
    let mut digits = [0; 4];
    let mut filled = 0;
    while filled < digits.len() {
        match stream.read(&mut digits[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ProtocolError::invalid("the answer ends within a packet")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ProtocolError::Io(error.to_string())),
        }
    }
    let hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
    let length = std::str::from_utf8(&digits)
        .ok()
        .filter(|_| hexadecimal)
        .and_then(|digits| usize::from_str_radix(digits, 16).ok())
        .ok_or_else(|| ProtocolError::invalid("the answer is not in git's packet format"))?;
    let size = match length {
        0 => return Ok(Some(Packet::Flush)),
        1 => return Ok(Some(Packet::Delimiter)),
        2 => return Ok(Some(Packet::ResponseEnd)),
        3 => return Err(ProtocolError::invalid("a packet has the length 3")),
        length => length - 4,
    };
    if size > MAX_PAYLOAD {
        return Err(ProtocolError::invalid("a packet is too long"));
    }
    let mut payload = vec![0; size];
    stream
        .read_exact(&mut payload)
        .map_err(|error| ProtocolError::Io(error.to_string()))?;
    if let Some(message) = payload.strip_prefix(b"ERR ") {
        return Err(ProtocolError::Server(
            String::from_utf8_lossy(message).into_owned(),
        ));
    }
    Ok(Some(Packet::Data(payload)))
}

/// Reads the next packet, and fails at the end of the stream.
pub(crate) fn read_required(stream: &mut dyn Read) -> Result<Packet, ProtocolError> {
    read(stream)?.ok_or_else(|| ProtocolError::invalid("the answer ends too early"))
}

/// Returns a payload as text without its line end.
pub(crate) fn text(payload: &[u8]) -> Result<&str, ProtocolError> {
    let payload = payload.strip_suffix(b"\n").unwrap_or(payload);
    std::str::from_utf8(payload).map_err(|_| ProtocolError::invalid("a line is not UTF-8"))
}

/// Appends a packet with a line to a message. The line is shorter than a packet.
pub(crate) fn write_line(message: &mut Vec<u8>, line: &str) {
    message.extend_from_slice(format!("{:04x}{line}\n", line.len() + 5).as_bytes());
}

/// Appends a delimiter to a message.
pub(crate) fn write_delimiter(message: &mut Vec<u8>) {
    message.extend_from_slice(b"0001");
}

/// Appends a flush packet to a message.
pub(crate) fn write_flush(message: &mut Vec<u8>) {
    message.extend_from_slice(b"0000");
}
