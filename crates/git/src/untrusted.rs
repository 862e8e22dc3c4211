//! The parsers of untrusted bytes, for the fuzz targets.

use std::io::{self, Cursor, Read, Write};

use crate::limits::Limits;
use crate::location::Location;
use crate::path::{Selected, Selection, check_path};
use crate::protocol::pack::{PackStream, skip_to_pack_v0, skip_to_pack_v2};
use crate::protocol::references::{read_advertisement, read_references};
use crate::request::is_commit;
use crate::ssh::known_hosts::KnownKeys;
use crate::ssh::private_key::PrivateKey;
use crate::ssh::{HostKeys, connect};

/// Most bytes of references.
const MAX_BYTES: u64 = 1 << 20;

/// Parses an advertisement and a list of references. Accepted references have a commit ID.
pub fn references(data: &[u8]) {
    let found = [
        read_references(&mut &*data, MAX_BYTES).unwrap_or_default(),
        match read_advertisement(&mut &*data, MAX_BYTES) {
            Ok(crate::protocol::Advertisement::V0(references)) => references,
            _ => Vec::new(),
        },
    ];
    for reference in found.iter().flatten() {
        assert!(is_commit(&reference.commit));
    }
}

/// Parses an answer with a pack. The pack is shorter than the answer.
pub fn pack(data: &[u8]) {
    for skip in [skip_to_pack_v2, skip_to_pack_v0] {
        let mut stream = data;
        if skip(&mut stream).is_err() {
            continue;
        }
        let mut pack = PackStream::new(stream);
        let mut bytes = 0;
        while let Ok(Some(more)) = pack.next_bytes() {
            bytes += more.len();
        }
        assert!(bytes < data.len());
    }
}

/// Parses known hosts, and checks a key that the file does not contain.
pub fn known_hosts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let absent = b"\0\0\0\x0bssh-ed25519\0\0\0\x01\0";
    for port in [22, 2222] {
        let known = KnownKeys::parse(&text, "host.example.com", port);
        assert!(known.check(absent).is_err());
    }
}

/// Parses a private key. An accepted key has a public key and creates a signature.
pub fn private_key(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(key) = PrivateKey::parse(text)
    {
        assert!(key.public_key().is_ok());
        assert!(key.sign(b"message").is_ok());
    }
}

/// Connects to a server that sends the data. Without a secret key, no server passes the handshake.
pub fn handshake(data: &[u8]) {
    let stream = Script(Cursor::new(data.to_vec()));
    let host_keys = HostKeys {
        known: &KnownKeys::default(),
        insecure: true,
    };
    assert!(connect(stream, host_keys).is_err());
}

/// Parses `.gitmodules`.
pub fn modules(data: &[u8]) {
    for path in crate::modules::parse(&String::from_utf8_lossy(data)).keys() {
        assert!(!path.starts_with('/'));
    }
}

/// Parses a URL, and the same text as the URL of a submodule. The shown URL has no credentials.
pub fn location(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let base = Location::parse("https://host/group/name").map(|(base, _)| base);
    if let Ok(base) = base
        && let Ok((submodule, _)) = base.submodule(text)
    {
        let relative = text.starts_with("./") || text.starts_with("../");
        assert!(!relative || base.same_server(&submodule));
    }
    if let Ok((Location::Http(url), _)) = Location::parse(text) {
        assert!(url.username().is_empty() && url.password().is_none());
    }
}

/// Compares a path with a pattern, separated by a line end.
pub fn selection(data: &[u8]) {
    let limits = Limits::default();
    let text = String::from_utf8_lossy(data);
    let Some((pattern, path)) = text.split_once('\n') else {
        return;
    };
    let safe = check_path(path, &limits).is_ok();
    assert!(!safe || !path.split('/').any(|name| name == ".." || name.is_empty()));
    if let Ok(selection) = Selection::parse(&[pattern.to_owned()], &limits)
        && safe
        && selection.selected(path) == Selected::Yes
    {
        // Everything below a selected path is selected.
        assert_eq!(selection.selected(&format!("{path}/x")), Selected::Yes);
    }
}

/// A server that sends a script and ignores all requests.
struct Script(Cursor<Vec<u8>>);

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Script {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
