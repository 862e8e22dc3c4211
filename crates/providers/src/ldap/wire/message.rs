//! Requests that Drover makes, and answers that it understands (RFC 4511 §4).

use std::collections::BTreeMap;
use std::fmt;

use super::filter::Filter;
use super::{Malformed, ber};
use ber::{ENUMERATED, INTEGER, OCTETS, Reader, SEQUENCE, SET};

/// A longer answer is not read; an entry of what is asked for has a few kilobytes.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// No header of an answer of that length is longer.
pub(crate) const MAX_HEADER_BYTES: usize = 6;
/// Of what a directory says for people, no more is shown.
const MAX_DIAGNOSTIC: usize = 200;

/// "Start TLS" (RFC 4511 §4.14.1).
const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
/// Pages (RFC 2696).
const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";

/// How far below its base a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The base itself.
    Base = 0,
    /// The base and everything beneath it.
    Subtree = 2,
}

/// A page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Entries at most.
    pub size: u32,
    /// What came with the page before; empty for the first.
    pub cookie: Vec<u8>,
}

/// What is searched for. Aliases are not followed: who can write one decides where it leads.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// Distinguished name.
    pub base: &'a str,
    /// How far below it.
    pub scope: Scope,
    /// What entries must be like.
    pub filter: &'a Filter,
    /// Which attributes are wanted; `1.1` for none.
    pub attributes: &'a [&'a str],
    /// Entries at most; 0 for as many as there are.
    pub size_limit: u32,
    /// Seconds at most.
    pub time_limit: u32,
}

/// Asks to be somebody (RFC 4511 §4.2, simple authentication).
pub(crate) fn bind(id: u32, name: &str, password: &str) -> Vec<u8> {
    let version = ber::number(INTEGER, 3);
    let name = ber::octets(name.as_bytes());
    let password = ber::element(0x80, &[password.as_bytes()]);
    request(id, &ber::element(0x60, &[&version, &name, &password]), &[])
}

/// Of the request to go on under TLS, which is the first of a connection.
pub(crate) const START_TLS_ID: u32 = 1;

/// Asks to go on under TLS.
pub(crate) fn start_tls() -> Vec<u8> {
    let name = ber::element(0x80, &[START_TLS.as_bytes()]);
    request(START_TLS_ID, &ber::element(0x77, &[&name]), &[])
}

/// Asks for entries, or a page of them.
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
        // Not critical: a directory without pages answers with everything, or says that it is more
        // than it gives.
        let name = ber::octets(PAGED_RESULTS.as_bytes());
        let control = ber::element(SEQUENCE, &[&name, &ber::octets(&value)]);
        ber::element(0xa0, &[&control])
    });
    request(id, &operation, &control)
}

fn request(id: u32, operation: &[u8], controls: &[u8]) -> Vec<u8> {
    ber::element(SEQUENCE, &[&ber::number(INTEGER, id), operation, controls])
}

/// How an operation ended (RFC 4511 §4.1.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Of Appendix A.
    pub code: u32,
    /// What the directory says for people: one line, shortened.
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

/// An entry, with what was asked for and may be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its distinguished name.
    pub name: String,
    /// Values by the attribute's name in lower case.
    attributes: BTreeMap<String, Vec<Vec<u8>>>,
}

impl Entry {
    /// The values of an attribute; none if it has none, or they may not be seen.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self.attributes.get(&attribute.to_ascii_lowercase());
        found.map_or(&[], Vec::as_slice)
    }
}

/// What an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a bind.
    Bound(Outcome),
    /// One of what was searched for.
    Entry(Entry),
    /// That something may be found elsewhere; never followed.
    Reference,
    /// There are no more, or no more in this page.
    Done {
        /// How the search ended.
        outcome: Outcome,
        /// What the next page is asked for with; nothing if there is none.
        next: Option<Vec<u8>>,
    },
    /// To an extended operation; with the id 0, that the directory ends the connection.
    Extended(Outcome),
}

/// An answer and the request that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The request's; 0 if nobody asked.
    pub id: u32,
    /// What it says.
    pub answer: Answer,
}

/// How many bytes the message has that begins with these; nothing if more are needed to know.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(header) = ber::header(bytes)? else {
        return Ok(None);
    };
    if header.tag != SEQUENCE {
        return Err(Malformed("it does not speak LDAP"));
    }
    match header.length.checked_add(header.content) {
        Some(length) if length <= MAX_MESSAGE_BYTES => Ok(Some(length)),
        _ => Err(Malformed("an answer is too long")),
    }
}

impl Message {
    /// Reads one whole message.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut whole = Reader::new(bytes);
        let mut fields = Reader::new(whole.expect(SEQUENCE)?);
        if !whole.is_empty() {
            return Err(Malformed("there is more after a message"));
        }
        let id = fields.number(INTEGER)?;
        let (tag, content) = fields.element()?;
        let answer = match tag {
            0x61 => Answer::Bound(outcome(content)?),
            0x64 => Answer::Entry(entry(content)?),
            0x65 => Answer::Done {
                outcome: outcome(content)?,
                next: next_page(fields)?,
            },
            0x73 => Answer::Reference,
            0x78 => Answer::Extended(outcome(content)?),
            _ => return Err(Malformed("an answer is of a kind that was not asked for")),
        };
        Ok(Self { id, answer })
    }
}

fn outcome(content: &[u8]) -> Result<Outcome, Malformed> {
    let mut fields = Reader::new(content);
    let code = fields.number(ENUMERATED)?;
    fields.expect(OCTETS)?;
    // Some directories write it in another encoding, which is no reason not to hear the code.
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
        // Some directories name one twice, which adds to its values.
        let values: &mut Vec<_> = attributes.entry(name).or_default();
        while !set.is_empty() {
            values.push(set.expect(OCTETS)?.to_vec());
        }
    }
    Ok(Entry { name, attributes })
}

/// The cookie in the controls after an answer, if there is one.
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
            return Err(Malformed("a control has another form"));
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
