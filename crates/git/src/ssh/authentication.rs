//! The authentication of the user with a public key (RFC 4252).

use std::io::{Read, Write};

use super::handshake::Connection;
use super::private_key::PrivateKey;
use super::wire::{Reader, Writer};
use super::{SshError, message};

/// Most messages that a server sends before its decision.
const MAX_MESSAGES: usize = 32;

/// Authenticates a user.
pub(crate) fn authenticate<S: Read + Write>(
    connection: &mut Connection<S>,
    user: &str,
    key: &PrivateKey,
) -> Result<(), SshError> {
    let request = Writer::message(message::SERVICE_REQUEST).string("ssh-userauth");
    connection.packets.send(&request.bytes)?;
    await_message(connection, message::SERVICE_ACCEPT)?;
    let public = key.public_key()?;
    let request = Writer::message(message::USERAUTH_REQUEST)
        .string(user)
        .string("ssh-connection")
        .string("publickey")
        .byte(1)
        .string(key.algorithm())
        .string(&public);
    let signed = Writer::default()
        .string(&connection.session)
        .raw(&request.bytes);
    let signature = key.sign(&signed.bytes)?;
    connection.packets.send(&request.string(signature).bytes)?;
    await_message(connection, message::USERAUTH_SUCCESS)
}

fn await_message<S: Read + Write>(
    connection: &mut Connection<S>,
    expected: u8,
) -> Result<(), SshError> {
    for _ in 0..MAX_MESSAGES {
        let received = connection.packets.receive()?;
        match received.first() {
            Some(number) if *number == expected => return Ok(()),
            Some(&message::EXT_INFO | &message::USERAUTH_BANNER) => {}
            Some(&message::USERAUTH_FAILURE) => {
                let methods = Reader::new(&received[1..]).text()?.to_owned();
                return Err(SshError::Authentication(methods));
            }
            _ => {
                return Err(SshError::protocol(
                    "the authentication has an unexpected message",
                ));
            }
        }
    }
    Err(SshError::protocol(
        "the authentication has too many messages",
    ))
}
