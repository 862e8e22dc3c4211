//! Versions, algorithms and keys of a new connection (RFC 4253, RFC 5656 and RFC 8731).

use std::io::{Read, Write};

use aws_lc_rs::agreement::{
    Algorithm, ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral,
};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;

use super::cipher::{CIPHERS, CODES, Cipher, needs_code};
use super::host_key::{ALGORITHMS, key_type, verify};
use super::known_hosts::KnownKeys;
use super::packets::Packets;
use super::wire::{Reader, Writer};
use super::{SshError, message};

/// The version line of the client.
const VERSION: &str = concat!("SSH-2.0-drover_", env!("CARGO_PKG_VERSION"));
/// Most lines and bytes of a line before the version line of the server.
const MAX_BANNER_LINES: usize = 50;
const MAX_LINE: usize = 1024;
/// The supported exchanges of keys.
const EXCHANGES: &[&str] = &[
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
];
/// Announces and reports the protection of the first packets (OpenSSH's strict key exchange).
const STRICT_CLIENT: &str = "kex-strict-c-v00@openssh.com";
const STRICT_SERVER: &str = "kex-strict-s-v00@openssh.com";

/// An encrypted connection to a server whose host key is trusted.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(super) packets: Packets<S>,
    /// The hash of the first exchange of keys, which signatures of users contain.
    pub(super) session: Vec<u8>,
}

/// The policy for host keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostKeys<'a> {
    pub(crate) known: &'a KnownKeys,
    /// Accepts any key.
    pub(crate) insecure: bool,
}

/// The negotiated algorithms.
#[derive(Debug, PartialEq, Eq)]
struct Algorithms {
    exchange: String,
    host_key: String,
    to_server: (String, String),
    to_client: (String, String),
    strict: bool,
    /// The server has sent a message of an exchange that was not negotiated.
    skip_guess: bool,
}

/// Opens a connection on a stream and checks the host key.
pub(crate) fn connect<S: Read + Write>(
    mut stream: S,
    host_keys: HostKeys<'_>,
) -> Result<Connection<S>, SshError> {
    stream.write_all(format!("{VERSION}\r\n").as_bytes())?;
    stream.flush()?;
    let server_version = read_version(&mut stream)?;
    let mut packets = Packets::new(stream);
    let own = kexinit(host_keys.known)?;
    packets.send(&own)?;
    let theirs = packets.receive_any()?;
    let algorithms = negotiate(&own, &theirs)?;
    if algorithms.skip_guess {
        packets.receive_any()?;
    }
    let agreed = exchange(&mut packets, &algorithms)?;
    let hash = digest(
        &SHA256,
        &Writer::default()
            .string(VERSION)
            .string(&server_version)
            .string(&own)
            .string(&theirs)
            .string(&agreed.host_key)
            .string(&agreed.own_public)
            .string(&agreed.their_public)
            .integer(&agreed.secret)
            .bytes,
    );
    verify(
        &agreed.host_key,
        &algorithms.host_key,
        hash.as_ref(),
        &agreed.signature,
    )?;
    // Only the owner of the key has signed the hash of this connection.
    if host_keys.insecure {
        key_type(&agreed.host_key)?;
    } else {
        host_keys.known.check(&agreed.host_key)?;
    }
    use_keys(&mut packets, &algorithms, &agreed.secret, hash.as_ref())?;
    Ok(Connection {
        packets,
        session: hash.as_ref().to_vec(),
    })
}

/// Reads the version line of the server, without its line end.
fn read_version(stream: &mut impl Read) -> Result<Vec<u8>, SshError> {
    for _ in 0..MAX_BANNER_LINES {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            if byte[0] == b'\n' {
                break;
            }
            line.push(byte[0]);
            if line.len() > MAX_LINE {
                return Err(SshError::protocol("the server is not an SSH server"));
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.starts_with(b"SSH-2.0-") || line.starts_with(b"SSH-1.99-") {
            return Ok(line);
        }
        if line.starts_with(b"SSH-") {
            break;
        }
    }
    Err(SshError::protocol("the server is not an SSH 2.0 server"))
}

/// Writes the algorithms of the client. Algorithms of known host keys come first, so that the
/// server presents a known key.
fn kexinit(known: &KnownKeys) -> Result<Vec<u8>, SshError> {
    let mut cookie = [0; 16];
    aws_lc_rs::rand::fill(&mut cookie).map_err(|_| SshError::protocol("no random numbers"))?;
    let mut host_keys = ALGORITHMS.to_vec();
    host_keys.sort_by_key(|(_, kind)| !known.has_type(kind));
    let host_keys: Vec<&str> = host_keys.iter().map(|(algorithm, _)| *algorithm).collect();
    let exchanges = [EXCHANGES, &[STRICT_CLIENT]].concat();
    let mut written = Writer::message(message::KEXINIT).raw(&cookie);
    for list in [
        &exchanges,
        &host_keys,
        &CIPHERS.to_vec(),
        &CIPHERS.to_vec(),
        &CODES.to_vec(),
        &CODES.to_vec(),
    ] {
        written = written.string(list.join(","));
    }
    let none = written.string("none").string("none").string("").string("");
    Ok(none.byte(0).number(0).bytes)
}

fn negotiate(own: &[u8], theirs: &[u8]) -> Result<Algorithms, SshError> {
    let (own, theirs) = (lists(own)?, lists(theirs)?);
    let chosen = |index: usize, what: &str| -> Result<String, SshError> {
        let offered: Vec<&str> = theirs.lists[index].split(',').collect();
        let strict = |name: &&str| *name != STRICT_CLIENT;
        own.lists[index]
            .split(',')
            .filter(strict)
            .find(|name| offered.contains(name))
            .map(str::to_owned)
            .ok_or_else(|| {
                let shown = crate::error::printable(theirs.lists[index]);
                SshError::Algorithms(format!("the server offers only the {what} {shown}"))
            })
    };
    let code = |cipher: &str, index: usize| {
        if needs_code(cipher) {
            chosen(index, "message authentication codes")
        } else {
            Ok(String::new())
        }
    };
    let to_server = chosen(2, "ciphers")?;
    let to_client = chosen(3, "ciphers")?;
    let exchange = chosen(0, "key exchanges")?;
    let host_key = chosen(1, "host keys")?;
    let first = |index: usize| theirs.lists[index].split(',').next();
    let wrong_guess =
        first(0) != own.lists[0].split(',').next() || first(1) != own.lists[1].split(',').next();
    Ok(Algorithms {
        to_server: (to_server.clone(), code(&to_server, 4)?),
        to_client: (to_client.clone(), code(&to_client, 5)?),
        strict: theirs.lists[0].split(',').any(|name| name == STRICT_SERVER),
        skip_guess: theirs.guess && wrong_guess,
        exchange,
        host_key,
    })
}

/// The content of a message KEXINIT.
struct Lists<'a> {
    lists: [&'a str; 10],
    guess: bool,
}

fn lists(kexinit: &[u8]) -> Result<Lists<'_>, SshError> {
    let mut fields = Reader::new(kexinit);
    if fields.byte()? != message::KEXINIT {
        return Err(SshError::protocol(
            "the first message of the server is unexpected",
        ));
    }
    fields.bytes(16)?;
    let mut lists = [""; 10];
    for list in &mut lists {
        *list = fields.text()?;
    }
    Ok(Lists {
        lists,
        guess: fields.boolean()?,
    })
}

/// The result of an exchange of keys.
struct Agreed {
    host_key: Vec<u8>,
    own_public: Vec<u8>,
    their_public: Vec<u8>,
    secret: Vec<u8>,
    signature: Vec<u8>,
}

fn exchange<S: Read + Write>(
    packets: &mut Packets<S>,
    algorithms: &Algorithms,
) -> Result<Agreed, SshError> {
    let failed = |_| SshError::protocol("the exchange of keys failed");
    let algorithm: &'static Algorithm = if algorithms.exchange == "ecdh-sha2-nistp256" {
        &ECDH_P256
    } else {
        &X25519
    };
    let private = EphemeralPrivateKey::generate(algorithm, &SystemRandom::new()).map_err(failed)?;
    let own_public = private
        .compute_public_key()
        .map_err(failed)?
        .as_ref()
        .to_vec();
    let init = Writer::message(message::KEX_ECDH_INIT).string(&own_public);
    packets.send(&init.bytes)?;
    // The strict exchange permits no other message.
    let reply = if algorithms.strict {
        packets.receive_any()?
    } else {
        packets.receive()?
    };
    let mut fields = Reader::new(&reply);
    if fields.byte()? != message::KEX_ECDH_REPLY {
        return Err(SshError::protocol(
            "the exchange of keys has an unexpected message",
        ));
    }
    let host_key = fields.string()?.to_vec();
    let their_public = fields.string()?.to_vec();
    let signature = fields.string()?.to_vec();
    let peer = UnparsedPublicKey::new(algorithm, &their_public);
    let error = SshError::protocol("the exchange of keys failed");
    let secret = agree_ephemeral(private, peer, error, |secret| Ok(secret.to_vec()))?;
    Ok(Agreed {
        host_key,
        own_public,
        their_public,
        secret,
        signature,
    })
}

/// Exchanges the messages NEWKEYS and enables encryption.
fn use_keys<S: Read + Write>(
    packets: &mut Packets<S>,
    algorithms: &Algorithms,
    secret: &[u8],
    hash: &[u8],
) -> Result<(), SshError> {
    let derive = |letter: char, length: usize| derive(secret, hash, letter, length);
    let (cipher, code) = &algorithms.to_server;
    let sending = Cipher::new(cipher, code, ('A', 'C', 'E'), &derive)?;
    let (cipher, code) = &algorithms.to_client;
    let receiving = Cipher::new(cipher, code, ('B', 'D', 'F'), &derive)?;
    packets.send(&[message::NEWKEYS])?;
    packets.set_sending(sending, algorithms.strict);
    let reply = if algorithms.strict {
        packets.receive_any()?
    } else {
        packets.receive()?
    };
    if reply != [message::NEWKEYS] {
        return Err(SshError::protocol(
            "the exchange of keys has an unexpected message",
        ));
    }
    packets.set_receiving(receiving, algorithms.strict);
    Ok(())
}

/// Derives a key (RFC 4253, section 7.2). The hash is also the ID of the session.
fn derive(secret: &[u8], hash: &[u8], letter: char, length: usize) -> Vec<u8> {
    let start = Writer::default().integer(secret).raw(hash).bytes;
    let first = [
        &start[..],
        &[u8::try_from(letter).unwrap_or_default()],
        hash,
    ]
    .concat();
    let mut key = digest(&SHA256, &first).as_ref().to_vec();
    while key.len() < length {
        let more = digest(&SHA256, &[&start[..], &key].concat());
        key.extend_from_slice(more.as_ref());
    }
    key.truncate(length);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(exchanges: &str, ciphers: &str, guess: u8) -> Vec<u8> {
        let mut written = Writer::message(message::KEXINIT)
            .raw(&[0; 16])
            .string(exchanges);
        for list in [
            "ssh-ed25519,rsa-sha2-256",
            ciphers,
            ciphers,
            "hmac-sha2-512",
            "hmac-sha2-512",
            "none",
            "none",
            "",
            "",
        ] {
            written = written.string(list);
        }
        written.byte(guess).number(0).bytes
    }

    fn negotiated(exchanges: &str, ciphers: &str, guess: u8) -> Result<Algorithms, SshError> {
        let own = kexinit(&KnownKeys::default()).unwrap();
        negotiate(&own, &server(exchanges, ciphers, guess))
    }

    #[test]
    fn first_shared_algorithm_of_the_client_is_used() {
        let found = negotiated(
            "ecdh-sha2-nistp256,curve25519-sha256,kex-strict-s-v00@openssh.com",
            "aes128-ctr,aes256-ctr",
            0,
        )
        .unwrap();
        assert_eq!(found.exchange, "curve25519-sha256");
        assert_eq!(found.host_key, "ssh-ed25519");
        assert_eq!(
            found.to_server,
            ("aes256-ctr".to_owned(), "hmac-sha2-512".to_owned())
        );
        assert!(found.strict && !found.skip_guess);
        let guessed = negotiated("ecdh-sha2-nistp256", "aes128-gcm@openssh.com", 1).unwrap();
        assert!(!guessed.strict && guessed.skip_guess);
    }

    #[test]
    fn server_with_only_weak_algorithms_is_rejected() {
        for (exchanges, ciphers) in [
            ("diffie-hellman-group1-sha1", "aes256-ctr"),
            ("curve25519-sha256", "aes256-cbc,3des-cbc"),
            ("kex-strict-c-v00@openssh.com", "aes256-ctr"),
        ] {
            let result = negotiated(exchanges, ciphers, 0);
            assert!(matches!(result, Err(SshError::Algorithms(_))), "{result:?}");
        }
    }
}
