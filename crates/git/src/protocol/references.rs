//! The advertisement of a server, and the list of its references.

use std::io::Read;

use super::packet::{self, Packet};
use super::{AGENT, ProtocolError};
use crate::request::is_commit;

/// A reference of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteReference {
    pub(crate) name: String,
    /// The commit ID, also if the reference is an annotated tag.
    pub(crate) commit: String,
}

/// The first answer of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advertisement {
    /// Version 2 of the protocol. The client asks for references.
    V2,
    /// Versions 0 and 1 of the protocol list all references.
    V0(Vec<RemoteReference>),
}

/// Parses the first answer of a server, of at most `max_bytes`.
pub(crate) fn read_advertisement(
    stream: &mut dyn Read,
    max_bytes: u64,
) -> Result<Advertisement, ProtocolError> {
    let mut references = Vec::new();
    let mut bytes = 0;
    let mut is_first = true;
    let mut after_service = false;
    loop {
        let payload = match packet::read_required(stream)? {
            Packet::Data(payload) => payload,
            // Smart HTTP ends the name of the service with a flush packet.
            Packet::Flush if after_service => {
                after_service = false;
                continue;
            }
            Packet::Flush => return Ok(Advertisement::V0(references)),
            _ => {
                return Err(ProtocolError::invalid(
                    "the list of references has a delimiter",
                ));
            }
        };
        count(&mut bytes, payload.len(), max_bytes)?;
        let (line, capabilities) = split_capabilities(&payload);
        let line = packet::text(line)?;
        if is_first && line.starts_with("# service=") {
            after_service = true;
            continue;
        }
        if is_first && line == "version 1" {
            continue;
        }
        if is_first && line == "version 2" {
            return read_capabilities(stream, max_bytes);
        }
        if is_first {
            check_format(capabilities.split(' '))?;
        }
        is_first = false;
        add_v0(&mut references, line)?;
    }
}

fn split_capabilities(payload: &[u8]) -> (&[u8], &str) {
    let Some(at) = payload.iter().position(|byte| *byte == 0) else {
        return (payload, "");
    };
    let capabilities = std::str::from_utf8(&payload[at + 1..]).unwrap_or_default();
    (&payload[..at], capabilities.trim_end())
}

fn check_format<'a>(mut capabilities: impl Iterator<Item = &'a str>) -> Result<(), ProtocolError> {
    let other = capabilities
        .find_map(|capability| capability.strip_prefix("object-format="))
        .filter(|format| *format != "sha1");
    other.map_or(Ok(()), |_| {
        Err(ProtocolError::invalid(
            "the repository uses SHA-256 object IDs, which are not supported",
        ))
    })
}

fn read_capabilities(stream: &mut dyn Read, max: u64) -> Result<Advertisement, ProtocolError> {
    let mut bytes = 0;
    loop {
        match packet::read_required(stream)? {
            Packet::Data(payload) => {
                count(&mut bytes, payload.len(), max)?;
                check_format(std::iter::once(packet::text(&payload)?))?;
            }
            Packet::Flush => return Ok(Advertisement::V2),
            _ => return Err(ProtocolError::invalid("the capabilities have a delimiter")),
        }
    }
}

fn add_v0(references: &mut Vec<RemoteReference>, line: &str) -> Result<(), ProtocolError> {
    let (commit, name) = reference(line)?;
    // An empty repository has no references, and a repository of a shallow clone has such lines.
    if name == "capabilities^{}" || commit == "shallow" {
        return Ok(());
    }
    if let Some(tag) = name.strip_suffix("^{}") {
        if let Some(last) = references.last_mut().filter(|last| last.name == tag) {
            commit.clone_into(&mut last.commit);
        }
        return Ok(());
    }
    references.push(RemoteReference {
        name: name.to_owned(),
        commit: commit.to_owned(),
    });
    Ok(())
}

fn reference(line: &str) -> Result<(&str, &str), ProtocolError> {
    line.split_once(' ')
        .filter(|(commit, _)| is_commit(commit) || *commit == "shallow")
        .ok_or_else(|| ProtocolError::invalid("a reference has no object ID"))
}

fn count(bytes: &mut u64, more: usize, max: u64) -> Result<(), ProtocolError> {
    *bytes += more as u64;
    if *bytes > max {
        return Err(ProtocolError::Limit("bytes of references", max));
    }
    Ok(())
}

/// Writes a request of version 2 for the references with these prefixes.
pub(crate) fn write_request(prefixes: &[String]) -> Vec<u8> {
    let mut message = Vec::new();
    packet::write_line(&mut message, "command=ls-refs");
    packet::write_line(&mut message, &format!("agent={AGENT}"));
    packet::write_line(&mut message, "object-format=sha1");
    packet::write_delimiter(&mut message);
    packet::write_line(&mut message, "peel");
    for prefix in prefixes {
        packet::write_line(&mut message, &format!("ref-prefix {prefix}"));
    }
    packet::write_flush(&mut message);
    message
}

/// Parses the answer to [`write_request`], of at most `max_bytes`.
pub(crate) fn read_references(
    stream: &mut dyn Read,
    max_bytes: u64,
) -> Result<Vec<RemoteReference>, ProtocolError> {
    let mut references = Vec::new();
    let mut bytes = 0;
    loop {
        let payload = match packet::read_required(stream)? {
            Packet::Data(payload) => payload,
            Packet::Flush => return Ok(references),
            _ => {
                return Err(ProtocolError::invalid(
                    "the list of references has a delimiter",
                ));
            }
        };
        count(&mut bytes, payload.len(), max_bytes)?;
        let line = packet::text(&payload)?;
        // A HEAD that names a branch without commits.
        if line.starts_with("unborn ") {
            continue;
        }
        let (commit, rest) = reference(line)?;
        let mut words = rest.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let peeled = words.find_map(|word| word.strip_prefix("peeled:"));
        let commit = peeled
            .filter(|id| is_commit(id))
            .unwrap_or(commit)
            .to_owned();
        references.push(RemoteReference { name, commit });
    }
}
