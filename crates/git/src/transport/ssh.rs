//! Git over SSH.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::{Deadline, Target, Transport, addresses};
use crate::error::{GitError, printable};
use crate::location::Location;
use crate::request::Auth;
use crate::ssh::known_hosts::KnownKeys;
use crate::ssh::private_key::PrivateKey;
use crate::ssh::{Channel, HostKeys, SshError, authenticate, connect};

/// The longest time for a new connection to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest time without a byte of the server.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// A running `git-upload-pack` on a server.
pub(crate) struct SshTransport<'a> {
    target: &'a Target,
    channel: Channel<Connected>,
}

impl<'a> SshTransport<'a> {
    /// Connects, checks the host key, authenticates the user and starts `git-upload-pack`.
    pub(crate) fn connect(target: &'a Target, deadline: Deadline) -> Result<Self, GitError> {
        let Location::Ssh {
            user,
            host,
            port,
            path,
        } = &target.location
        else {
            return Err(GitError::invalid("url", "", "it is not an SSH URL"));
        };
        let Auth::Ssh { private_key } = &target.auth else {
            return Err(GitError::AuthenticationFailed {
                repository: target.location.shown(),
                reason: "an SSH URL needs an SSH key".to_owned(),
            });
        };
        let failed = |error| error_of(target, error);
        let key = PrivateKey::parse(private_key.expose_secret()).map_err(failed)?;
        let known = KnownKeys::parse(&target.known_hosts, host, *port);
        let stream = open(target, host, *port, deadline)?;
        let host_keys = HostKeys {
            known: &known,
            insecure: target.insecure_skip_host_key_check,
        };
        let mut connection = connect(stream, host_keys).map_err(failed)?;
        authenticate(&mut connection, user, &key).map_err(failed)?;
        let command = format!("git-upload-pack '{}'", path.replace('\'', r"'\''"));
        let channel = Channel::start(connection, ("GIT_PROTOCOL", "version=2"), &command);
        Ok(Self {
            target,
            channel: channel.map_err(failed)?,
        })
    }
}

impl Transport for SshTransport<'_> {
    fn is_stateless(&self) -> bool {
        false
    }

    fn advertisement(&mut self) -> Result<Box<dyn Read + '_>, GitError> {
        // A command that fails closes its output at once, and explains the reason.
        let mut first = [0];
        let count = self.channel.read(&mut first).unwrap_or_default();
        if count == 0 {
            return Err(self.rejected());
        }
        Ok(Box::new(io::Cursor::new(first).chain(&mut self.channel)))
    }

    fn request(&mut self, body: Vec<u8>) -> Result<Box<dyn Read + '_>, GitError> {
        let sent = self.channel.send(&body);
        sent.map_err(|error| error_of(self.target, error))?;
        Ok(Box::new(&mut self.channel))
    }
}

impl SshTransport<'_> {
    /// Returns the error for a command that ended without output.
    fn rejected(&self) -> GitError {
        let repository = self.target.location.shown();
        let text = String::from_utf8_lossy(&self.channel.error_output);
        let lower = text.to_ascii_lowercase();
        let is_missing = [
            "not found",
            "does not appear to be a git repository",
            "does not exist",
        ];
        if is_missing.iter().any(|words| lower.contains(words)) {
            return GitError::RepositoryNotFound { repository };
        }
        if lower.contains("permission denied") || lower.contains("access denied") {
            return GitError::AuthenticationFailed {
                repository,
                reason: printable(&text),
            };
        }
        GitError::Server {
            repository,
            message: match printable(&text) {
                text if text.is_empty() => "the command git-upload-pack failed".to_owned(),
                text => text,
            },
        }
    }
}

fn error_of(target: &Target, error: SshError) -> GitError {
    let repository = target.location.shown();
    let host = target.location.host();
    match error {
        SshError::Io(reason) => GitError::Connection {
            host,
            reason: printable(&reason),
        },
        SshError::Protocol(reason) | SshError::Algorithms(reason) => {
            GitError::Protocol { repository, reason }
        }
        SshError::UnknownHostKey {
            algorithm,
            fingerprint,
        } => GitError::HostKeyUnknown {
            host,
            algorithm: printable(&algorithm),
            fingerprint,
        },
        SshError::ChangedHostKey {
            algorithm,
            fingerprint,
        } => GitError::HostKeyChanged {
            host,
            algorithm: printable(&algorithm),
            fingerprint,
        },
        SshError::PrivateKey(reason) => GitError::InvalidPrivateKey {
            reason: reason.to_owned(),
        },
        SshError::Authentication(methods) => GitError::AuthenticationFailed {
            repository,
            reason: format!("the server permits only: {}", printable(&methods)),
        },
        SshError::Disconnected(message) => GitError::Server {
            repository,
            message: printable(&message),
        },
    }
}

fn open(target: &Target, host: &str, port: u16, deadline: Deadline) -> Result<Connected, GitError> {
    let failed = |error: &io::Error| GitError::Connection {
        host: target.location.host(),
        reason: printable(&error.to_string()),
    };
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|error| failed(&error))?;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in found {
        let checked = addresses::check(address.ip(), host, &target.home);
        checked.map_err(|error| failed(&io::Error::other(error)))?;
        let timeout = deadline.remaining()?.min(CONNECT_TIMEOUT);
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                // Messages are small, and the server waits for each of them.
                stream.set_nodelay(true).map_err(|error| failed(&error))?;
                return Ok(Connected { stream, deadline });
            }
            Err(error) => last = error,
        }
    }
    Err(failed(&last))
}

/// A stream whose operations end at a deadline.
#[derive(Debug)]
struct Connected {
    stream: TcpStream,
    deadline: Deadline,
}

impl Connected {
    fn timeout(&self) -> io::Result<Duration> {
        let left = self.deadline.remaining().map_err(io::Error::other)?;
        Ok(left.min(READ_TIMEOUT))
    }
}

/// Names a timeout. The operating system reports a timeout as an operation that would block.
fn named(error: io::Error, timeout: Duration) -> io::Error {
    if error.kind() != io::ErrorKind::WouldBlock {
        return error;
    }
    let reason = format!("no data for {} s; try again later", timeout.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, reason)
}

impl Read for Connected {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = self.timeout()?;
        self.stream.set_read_timeout(Some(timeout))?;
        let read = self.stream.read(buffer);
        read.map_err(|error| named(error, timeout))
    }
}

impl Write for Connected {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let timeout = self.timeout()?;
        self.stream.set_write_timeout(Some(timeout))?;
        let written = self.stream.write(buffer);
        written.map_err(|error| named(error, timeout))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
