//! One command of a server (RFC 4254).

use std::io::{self, Read, Write};

use super::handshake::Connection;
use super::wire::{Reader, Writer};
use super::{SshError, message};

/// The bytes that the server can send before the client has read them.
const WINDOW: u32 = 2 << 20;
/// The bytes of one message with data.
const MAX_DATA: u32 = 32 << 10;
/// The kept bytes of the standard error.
const MAX_ERROR: usize = 4 << 10;
/// Most messages of a server before it starts the command.
const MAX_MESSAGES: usize = 64;

/// The standard input and output of a command.
#[derive(Debug)]
pub(crate) struct Channel<S> {
    connection: Connection<S>,
    /// The number of the channel at the server.
    number: u32,
    /// The bytes that the client can send.
    send_window: u64,
    max_send: usize,
    /// The bytes that the server can still send.
    receive_window: u32,
    data: Vec<u8>,
    /// The first unread byte of the data.
    at: usize,
    /// The start of the standard error.
    pub(crate) error_output: Vec<u8>,
    ended: bool,
}

impl<S: Read + Write> Channel<S> {
    /// Starts a command with one variable of the environment, which the server can ignore.
    pub(crate) fn start(
        mut connection: Connection<S>,
        variable: (&str, &str),
        command: &str,
    ) -> Result<Self, SshError> {
        let open = Writer::message(message::CHANNEL_OPEN)
            .string("session")
            .number(0)
            .number(WINDOW)
            .number(MAX_DATA);
        connection.packets.send(&open.bytes)?;
        let mut channel = Self {
            connection,
            number: 0,
            send_window: 0,
            max_send: 0,
            receive_window: WINDOW,
            data: Vec::new(),
            at: 0,
            error_output: Vec::new(),
            ended: false,
        };
        let reply = channel.next_reply()?;
        let mut fields = Reader::new(&reply);
        if fields.byte()? != message::CHANNEL_OPEN_CONFIRMATION {
            return Err(SshError::Disconnected(
                "the server permits no command".to_owned(),
            ));
        }
        fields.number()?;
        channel.number = fields.number()?;
        channel.send_window = u64::from(fields.number()?);
        channel.max_send = usize::try_from(fields.number()?).unwrap_or(usize::MAX);
        let request = |kind: &str, reply: u8| {
            Writer::message(message::CHANNEL_REQUEST)
                .number(channel.number)
                .string(kind)
                .byte(reply)
        };
        let environment = request("env", 0).string(variable.0).string(variable.1);
        let command = request("exec", 1).string(command);
        channel.connection.packets.send(&environment.bytes)?;
        channel.connection.packets.send(&command.bytes)?;
        match channel.next_reply()?.first() {
            Some(&message::CHANNEL_SUCCESS) => Ok(channel),
            _ => Err(SshError::Disconnected(
                "the server rejected the command".to_owned(),
            )),
        }
    }

    /// Returns the next reply to a request, and handles all other messages.
    fn next_reply(&mut self) -> Result<Vec<u8>, SshError> {
        for _ in 0..MAX_MESSAGES {
            let received = self.connection.packets.receive()?;
            match received.first() {
                Some(
                    &message::CHANNEL_OPEN_CONFIRMATION
                    | &message::CHANNEL_OPEN_FAILURE
                    | &message::CHANNEL_SUCCESS
                    | &message::CHANNEL_FAILURE,
                ) => return Ok(received),
                _ => self.handle(&received)?,
            }
        }
        Err(SshError::protocol("the server does not start the command"))
    }

    fn handle(&mut self, received: &[u8]) -> Result<(), SshError> {
        let mut fields = Reader::new(received);
        match fields.byte()? {
            message::GLOBAL_REQUEST => {
                fields.string()?;
                if fields.boolean()? {
                    self.connection.packets.send(&[message::REQUEST_FAILURE])?;
                }
            }
            message::CHANNEL_WINDOW_ADJUST => {
                fields.number()?;
                self.send_window = self.send_window.saturating_add(u64::from(fields.number()?));
            }
            message::CHANNEL_DATA => {
                fields.number()?;
                let data = fields.string()?;
                self.take_window(data.len())?;
                self.data.drain(..self.at);
                self.at = 0;
                self.data.extend_from_slice(data);
            }
            message::CHANNEL_EXTENDED_DATA => {
                fields.number()?;
                fields.number()?;
                let data = fields.string()?;
                self.take_window(data.len())?;
                let free = MAX_ERROR.saturating_sub(self.error_output.len());
                self.error_output.extend(data.iter().take(free));
                self.return_window()?;
            }
            message::CHANNEL_EOF | message::CHANNEL_CLOSE => self.ended = true,
            // The exit status adds nothing to the standard error. The replies are late.
            message::CHANNEL_REQUEST
            | message::CHANNEL_SUCCESS
            | message::CHANNEL_FAILURE
            | message::EXT_INFO => {}
            message::KEXINIT => {
                return Err(SshError::protocol(
                    "the server changes keys during a connection, which is not supported",
                ));
            }
            _ => return Err(SshError::protocol("the server sent an unexpected message")),
        }
        Ok(())
    }

    fn take_window(&mut self, bytes: usize) -> Result<(), SshError> {
        self.receive_window = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| self.receive_window.checked_sub(bytes))
            .ok_or_else(|| SshError::protocol("the server sent more data than permitted"))?;
        Ok(())
    }

    /// Permits the server to send more data, when the client has read all data.
    fn return_window(&mut self) -> Result<(), SshError> {
        if self.at < self.data.len() || self.receive_window > WINDOW / 2 {
            return Ok(());
        }
        let adjust = Writer::message(message::CHANNEL_WINDOW_ADJUST)
            .number(self.number)
            .number(WINDOW - self.receive_window);
        self.receive_window = WINDOW;
        self.connection.packets.send(&adjust.bytes)
    }

    fn fill(&mut self) -> Result<(), SshError> {
        while self.at >= self.data.len() && !self.ended {
            self.return_window()?;
            let received = self.connection.packets.receive()?;
            self.handle(&received)?;
        }
        Ok(())
    }

    /// Sends data to the standard input.
    pub(crate) fn send(&mut self, mut data: &[u8]) -> Result<(), SshError> {
        while !data.is_empty() {
            while self.send_window == 0 {
                let received = self.connection.packets.receive()?;
                self.handle(&received)?;
                if self.ended {
                    return Err(SshError::Disconnected("the command has ended".to_owned()));
                }
            }
            let free = usize::try_from(self.send_window).unwrap_or(usize::MAX);
            let count = data
                .len()
                .min(free)
                .min(self.max_send.max(1))
                .min(MAX_DATA as usize);
            let (now, later) = data.split_at(count);
            let sent = Writer::message(message::CHANNEL_DATA)
                .number(self.number)
                .string(now);
            self.connection.packets.send(&sent.bytes)?;
            self.send_window -= count as u64;
            data = later;
        }
        Ok(())
    }
}

impl<S: Read + Write> Read for Channel<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill().map_err(|error| match error {
            SshError::Io(reason) | SshError::Protocol(reason) | SshError::Disconnected(reason) => {
                io::Error::other(reason)
            }
            other => io::Error::other(format!("{other:?}")),
        })?;
        let rest = &self.data[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
