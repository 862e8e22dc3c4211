//! Decodes WebSocket frames in place, without I/O.

use super::encode::Mask;

/// Maximum number of payload bytes in one message, for each direction. Larger messages would delay
/// pings.
pub const MAX_MESSAGE: usize = 64 * 1024;

/// Maximum number of payload bytes in a control frame (RFC 6455 §5.5).
const MAX_CONTROL: usize = 125;
/// Maximum header length: two bytes, eight length bytes, four mask bytes.
pub(super) const MAX_HEADER: usize = 14;

pub(super) const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
pub(super) const MASKED: u8 = 0x80;

/// Value of the 7-bit length field if the length is in the next two bytes.
pub(super) const LENGTH_16: u8 = 0x7E;
/// Value of the 7-bit length field if the length is in the next eight bytes.
pub(super) const LENGTH_64: u8 = 0x7F;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
pub(super) const BINARY: u8 = 0x2;
pub(super) const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
pub(super) const PONG: u8 = 0xA;

/// Role of this end of the WebSocket. Only the client masks its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client, which opened the connection.
    Client,
    /// The server, which accepted the connection.
    Server,
}

/// Protocol error of the peer. The connection cannot be used after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame has reserved bits. Only protocol extensions use these bits.
    #[error("a frame has reserved bits, but no extension was negotiated")]
    ReservedBits,
    /// A frame has an opcode that RFC 6455 does not define.
    #[error("a frame has the unknown opcode {opcode:#x}", opcode = .0)]
    UnknownOpcode(u8),
    /// The peer sent a text message. A tunnel supports only binary messages.
    #[error("the tunnel received a text message; the tunnel supports only binary messages")]
    Text,
    /// The client did not mask a frame, or the server masked a frame.
    #[error("a client frame is not masked, or a server frame is masked")]
    Masking,
    /// A payload length is not in its shortest form, or exceeds 63 bits.
    #[error("the length of a frame is not in its shortest form, or exceeds 63 bits")]
    LengthForm,
    /// A message is larger than [`MAX_MESSAGE`].
    #[error("a message of {length} bytes exceeds the maximum of {MAX_MESSAGE} bytes", length = .0)]
    TooLarge(u64),
    /// A control frame is fragmented or longer than 125 bytes.
    #[error("a control frame is fragmented or too long")]
    Control,
    /// A continuation frame has no first fragment, or a new message starts before the end of a
    /// fragmented message.
    #[error("the fragments of a message are out of order")]
    Fragments,
}

/// Result of one call of [`Decoder::decode`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Number of payload bytes at the start of the buffer.
    pub payload: usize,
    /// Payload of the most recent ping, which requires a pong.
    pub ping: Option<Control>,
    /// True after the peer has sent a close frame. The decoder ignores all later bytes.
    pub closed: bool,
}

/// Payload of a control frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Control {
    bytes: [u8; MAX_CONTROL],
    len: u8,
}

impl Control {
    const EMPTY: Self = Self {
        bytes: [0; MAX_CONTROL],
        len: 0,
    };

    /// Returns the payload bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn push(&mut self, bytes: &[u8]) {
        let start = usize::from(self.len);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.len += u8::try_from(bytes.len()).expect("a control frame has at most 125 bytes");
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Control({} bytes)", self.len)
    }
}

#[derive(Debug)]
enum State {
    Header {
        bytes: [u8; MAX_HEADER],
        have: usize,
    },
    Data {
        remaining: usize,
        mask: Mask,
    },
    Control {
        opcode: u8,
        remaining: usize,
        mask: Mask,
        payload: Control,
    },
    Closed,
}

impl State {
    const START: Self = Self::Header {
        bytes: [0; MAX_HEADER],
        have: 0,
    };
}

/// Incremental decoder that decodes frames in the caller's buffer. The input can be split at any
/// byte.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    state: State,
    /// Number of payload bytes of the incomplete message. `None` between messages.
    message: Option<u64>,
}

impl Decoder {
    /// Creates a decoder for the end of the WebSocket with this role.
    pub const fn new(role: Role) -> Self {
        Self {
            role,
            state: State::START,
            message: None,
        }
    }

    /// Returns true if the most recently decoded byte was the end of a frame.
    pub fn at_boundary(&self) -> bool {
        matches!(self.state, State::Header { have: 0, .. } | State::Closed)
    }

    /// Decodes received bytes in place and moves the payloads to the front of `buf`.
    pub fn decode(&mut self, buf: &mut [u8]) -> Result<Decoded, FrameError> {
        let mut found = Decoded::default();
        let mut read = 0;
        while read < buf.len() {
            match &mut self.state {
                State::Closed => break,
                State::Header { bytes, have } => {
                    bytes[*have] = buf[read];
                    *have += 1;
                    read += 1;
                    if *have >= 2 && *have == header_len(bytes[1]) {
                        let header = *bytes;
                        self.state = self.begin(&header)?;
                        self.finish_control(&mut found);
                    }
                }
                State::Data { remaining, mask } => {
                    let n = (*remaining).min(buf.len() - read);
                    mask.apply(&mut buf[read..read + n]);
                    if found.payload != read {
                        buf.copy_within(read..read + n, found.payload);
                    }
                    found.payload += n;
                    read += n;
                    *remaining -= n;
                    if *remaining == 0 {
                        self.state = State::START;
                    }
                }
                State::Control {
                    remaining,
                    mask,
                    payload,
                    ..
                } => {
                    let n = (*remaining).min(buf.len() - read);
                    mask.apply(&mut buf[read..read + n]);
                    payload.push(&buf[read..read + n]);
                    read += n;
                    *remaining -= n;
                    self.finish_control(&mut found);
                }
            }
        }
        Ok(found)
    }

    /// Processes a control frame whose payload is complete.
    fn finish_control(&mut self, found: &mut Decoded) {
        let State::Control {
            opcode,
            remaining: 0,
            payload,
            ..
        } = &self.state
        else {
            return;
        };
        let mut next = State::START;
        match *opcode {
            PING => found.ping = Some(*payload),
            CLOSE => {
                found.closed = true;
                next = State::Closed;
            }
            _ => {}
        }
        self.state = next;
    }

    /// Parses a complete frame header. Returns the next state of the decoder.
    fn begin(&mut self, header: &[u8; MAX_HEADER]) -> Result<State, FrameError> {
        let [first, second, ..] = *header;
        let (fin, opcode) = (first & FIN != 0, first & 0x0F);
        if first & RESERVED != 0 {
            return Err(FrameError::ReservedBits);
        }
        if (second & MASKED != 0) != (self.role == Role::Server) {
            return Err(FrameError::Masking);
        }
        let length = payload_len(header)?;
        let mask = Mask::read(header);
        match opcode {
            CONTINUATION | BINARY => self.begin_data(opcode, fin, length, mask),
            CLOSE | PING | PONG if fin && length <= MAX_CONTROL as u64 => Ok(State::Control {
                opcode,
                remaining: to_usize(length),
                mask,
                payload: Control::EMPTY,
            }),
            CLOSE | PING | PONG => Err(FrameError::Control),
            TEXT => Err(FrameError::Text),
            other => Err(FrameError::UnknownOpcode(other)),
        }
    }

    fn begin_data(
        &mut self,
        opcode: u8,
        fin: bool,
        length: u64,
        mask: Mask,
    ) -> Result<State, FrameError> {
        let before = match (opcode, self.message) {
            (CONTINUATION, Some(before)) => before,
            (BINARY, None) => 0,
            _ => return Err(FrameError::Fragments),
        };
        let total = before.saturating_add(length);
        if total > MAX_MESSAGE as u64 {
            return Err(FrameError::TooLarge(total));
        }
        self.message = (!fin).then_some(total);
        Ok(match length {
            0 => State::START,
            _ => State::Data {
                remaining: to_usize(length),
                mask,
            },
        })
    }
}

/// Converts the length of a message. The caller has checked that the length is at most
/// [`MAX_MESSAGE`].
fn to_usize(length: u64) -> usize {
    usize::try_from(length).expect("the length is at most 64 KiB")
}

/// Returns the length of the frame header. `second` is the second byte of the header.
pub(super) fn header_len(second: u8) -> usize {
    let length = match second & !MASKED {
        LENGTH_16 => 2,
        LENGTH_64 => 8,
        _ => 0,
    };
    2 + length + if second & MASKED == 0 { 0 } else { 4 }
}

fn payload_len(header: &[u8; MAX_HEADER]) -> Result<u64, FrameError> {
    let short = header[1] & !MASKED;
    let (length, least) = match short {
        LENGTH_16 => (u64::from(u16::from_be_bytes([header[2], header[3]])), 126),
        LENGTH_64 => {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[2..10]);
            (u64::from_be_bytes(bytes), 0x1_0000)
        }
        _ => (u64::from(short), 0),
    };
    if length < least || length > i64::MAX as u64 {
        return Err(FrameError::LengthForm);
    }
    Ok(length)
}
