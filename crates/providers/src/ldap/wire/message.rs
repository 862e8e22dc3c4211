//! Encodes LDAP requests and parses LDAP responses (RFC 4511 §4).

use std::collections::BTreeMap;
use std::fmt;

use super::filter::Filter;
use super::{Malformed, ber};
use ber::{ENUMERATED, INTEGER, OCTETS, Reader, SEQUENCE, SET};

/// Maximum length of an LDAP response in bytes. A response with one entry usually has a few
/// kilobytes.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Maximum number of bytes in the tag and the length of an LDAP message (BER).
pub(crate) const MAX_HEADER_BYTES: usize = 6;
/// Maximum length of a displayed diagnostic message, in characters.
const MAX_DIAGNOSTIC: usize = 200;

/// OID of StartTLS (RFC 4511 §4.14.1).
const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
/// OID of the paged results control (RFC 2696).
const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";

/// Depth of a search below the base entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Search only the base entry (`baseObject`).
    Base = 0,
    /// Search the base entry and all entries below the base entry (`wholeSubtree`).
    Subtree = 2,
}

/// Request for one page of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of entries in the page.
    pub size: u32,
    /// Cookie of the previous page; empty for the first page.
    pub cookie: Vec<u8>,
}

/// Parameters of a search. Aliases are not dereferenced, because a user with write access could
/// point an alias at any entry.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// Distinguished name of the base entry.
    pub base: &'a str,
    /// Depth of the search.
    pub scope: Scope,
    /// Search filter (RFC 4511 §4.5.1.7).
    pub filter: &'a Filter,
    /// Names of the requested attributes. `1.1` requests no attributes.
    pub attributes: &'a [&'a str],
    /// Maximum number of entries; 0 for no limit.
    pub size_limit: u32,
    /// Maximum duration in seconds.
    pub time_limit: u32,
}

/// Encodes a bind request (RFC 4511 §4.2, simple authentication).
pub(crate) fn bind(id: u32, name: &str, password: &str) -> Vec<u8> {
    let version = ber::number(INTEGER, 3);
    let name = ber::octets(name.as_bytes());
    let password = ber::element(0x80, &[password.as_bytes()]);
    request(id, &ber::element(0x60, &[&version, &name, &password]), &[])
}

/// Message ID of the StartTLS request, the first request of a connection.
pub(crate) const START_TLS_ID: u32 = 1;

/// Encodes a StartTLS request.
pub(crate) fn start_tls() -> Vec<u8> {
    let name = ber::element(0x80, &[START_TLS.as_bytes()]);
    request(START_TLS_ID, &ber::element(0x77, &[&name]), &[])
}

/// Encodes a search request, optionally for one page.
pub fn search(id: u32, query: &Query<'_>, page: Option<&Page>) -> Vec<u8> {
    let attributes: Vec<u8> = query
        .attributes
        .iter()
        .flat_map(|attribute| ber::octets(attribute.as_bytes()))
        .collect();
    let operation = ber::element(
        0x63,
        &[
            &ber::octets(query.base.as_bytes()),
            &ber::number(ENUMERATED, query.scope as u32),
            &ber::number(ENUMERATED, 0),
            &ber::number(INTEGER, query.size_limit),
            &ber::number(INTEGER, query.time_limit),
            &ber::boolean(false),
            &query.filter.encode(),
            &ber::element(SEQUENCE, &[&attributes]),
        ],
    );
    let control = page.map_or_else(Vec::new, |page| {
        let parts = [ber::number(INTEGER, page.size), ber::octets(&page.cookie)];
        let value = ber::element(SEQUENCE, &[&parts[0], &parts[1]]);
        // The control is not critical: a directory without paging returns all entries, or a
        // size limit error.
        let name = ber::octets(PAGED_RESULTS.as_bytes());
        let control = ber::element(SEQUENCE, &[&name, &ber::octets(&value)]);
        ber::element(0xa0, &[&control])
    });
    request(id, &operation, &control)
}

fn request(id: u32, operation: &[u8], controls: &[u8]) -> Vec<u8> {
    ber::element(SEQUENCE, &[&ber::number(INTEGER, id), operation, controls])
}

/// Result of an operation (RFC 4511 §4.1.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Result code (RFC 4511 Appendix A).
    pub code: u32,
    /// Diagnostic message of the directory: one line, truncated.
    pub diagnostic: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "result code {}", self.code)?;
        if !self.diagnostic.is_empty() {
            write!(f, ", {:?}", self.diagnostic)?;
        }
        Ok(())
    }
}

/// A directory entry. Contains the requested attributes for which the service account has read
/// access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Distinguished name of the entry.
    pub name: String,
    /// Values by attribute name in lower case.
    attributes: BTreeMap<String, Vec<Vec<u8>>>,
}

impl Entry {
    /// Returns the values of an attribute. Returns an empty slice if the attribute is missing or
    /// not readable.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self.attributes.get(&attribute.to_ascii_lowercase());
        found.map_or(&[], Vec::as_slice)
    }
}

/// The LDAP operation of a response, with its parsed content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Response to a bind.
    BindResult(Outcome),
    /// An entry of a search result.
    Entry(Entry),
    /// A reference to a different server (`SearchResultReference`). Drover does not follow
    /// references.
    Reference,
    /// End of a search or of one page.
    Done {
        /// Result of the search.
        outcome: Outcome,
        /// Cookie for the next page; `None` after the last page.
        next: Option<Vec<u8>>,
    },
    /// Response to an extended operation. A response with the message ID 0 is a notice of
    /// disconnection.
    Extended(Outcome),
}

/// A response and the ID of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Message ID of the request; 0 for an unsolicited notification.
    pub id: u32,
    /// Content of the response.
    pub answer: Answer,
}

/// Returns the length of the message at the beginning of `bytes`. Returns `None` if the header is
/// incomplete.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(header) = ber::header(bytes)? else {
        return Ok(None);
    };
    if header.tag != SEQUENCE {
        return Err(Malformed("the server does not speak LDAP"));
    }
    match header.length.checked_add(header.content) {
        Some(length) if length <= MAX_MESSAGE_BYTES => Ok(Some(length)),
        _ => Err(Malformed("a response is too long")),
    }
}

impl Message {
    /// Parses one complete message.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut whole = Reader::new(bytes);
        let mut fields = Reader::new(whole.expect(SEQUENCE)?);
        if !whole.is_empty() {
            return Err(Malformed("unexpected bytes after a message"));
        }
        let id = fields.number(INTEGER)?;
        let (tag, content) = fields.element()?;
        let answer = match tag {
            0x61 => Answer::BindResult(outcome(content)?),
            0x64 => Answer::Entry(entry(content)?),
            0x65 => Answer::Done {
                outcome: outcome(content)?,
                next: next_page(fields)?,
            },
            0x73 => Answer::Reference,
            0x78 => Answer::Extended(outcome(content)?),
            _ => return Err(Malformed("a response has an unexpected type")),
        };
        Ok(Self { id, answer })
    }
}

fn outcome(content: &[u8]) -> Result<Outcome, Malformed> {
    let mut fields = Reader::new(content);
    let code = fields.number(ENUMERATED)?;
    fields.expect(OCTETS)?;
    // Some directories use another encoding; the result code is still valid.
    let diagnostic = String::from_utf8_lossy(fields.expect(OCTETS)?);
    let shown = diagnostic.chars().filter(|letter| !letter.is_control());
    Ok(Outcome {
        code,
        diagnostic: shown.take(MAX_DIAGNOSTIC).collect(),
    })
}

fn entry(content: &[u8]) -> Result<Entry, Malformed> {
    let mut fields = Reader::new(content);
    let name = fields.text()?.to_owned();
    let mut list = Reader::new(fields.expect(SEQUENCE)?);
    let mut attributes = BTreeMap::new();
    while !list.is_empty() {
        let mut attribute = Reader::new(list.expect(SEQUENCE)?);
        let name = attribute.text()?.to_ascii_lowercase();
        let mut set = Reader::new(attribute.expect(SET)?);
        // Some directories list an attribute twice; the values are merged.
        let values: &mut Vec<_> = attributes.entry(name).or_default();
        while !set.is_empty() {
            values.push(set.expect(OCTETS)?.to_vec());
        }
    }
    Ok(Entry { name, attributes })
}

/// Returns the paging cookie in the controls of a response.
fn next_page(mut rest: Reader<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    if rest.is_empty() {
        return Ok(None);
    }
    let mut controls = Reader::new(rest.expect(0xa0)?);
    while !controls.is_empty() {
        let mut control = Reader::new(controls.expect(SEQUENCE)?);
        if control.text()? != PAGED_RESULTS {
            continue;
        }
        let (mut tag, mut content) = control.element()?;
        if tag == ber::BOOLEAN {
            (tag, content) = control.element()?;
        }
        if tag != OCTETS {
            return Err(Malformed("a control is malformed"));
        }
        let mut fields = Reader::new(Reader::new(content).expect(SEQUENCE)?);
        fields.expect(INTEGER)?;
        let cookie = fields.expect(OCTETS)?;
        return Ok(Some(cookie.to_vec()).filter(|cookie| !cookie.is_empty()));
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
