//! Search filters (RFC 4511 §4.5.1.7) and their text (RFC 4515).
//!
//! Drover writes no filter as text: what somebody typed is put into [`Filter::Equal`] and sent in a
//! field of its own with its length before it, so no character of it can mean anything. Text is
//! only read, from an administrator's configuration.

use thiserror::Error;

use super::ber;

/// A filter of the configuration has no more levels.
const MAX_DEPTH: usize = 32;
/// What must be escaped in a value (RFC 4515 §3).
const SPECIAL: &[u8] = b"()*\\\0";

/// What an entry must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Like all of these; any entry is like none of them.
    And(Vec<Self>),
    /// Like one of these.
    Or(Vec<Self>),
    /// Not like this.
    Not(Box<Self>),
    /// It has the attribute.
    Present(String),
    /// The attribute has the value.
    Equal(String, Vec<u8>),
    /// The attribute has the value or one that comes after it.
    AtLeast(String, Vec<u8>),
    /// The attribute has the value or one that comes before it.
    AtMost(String, Vec<u8>),
    /// The attribute has about this value.
    About(String, Vec<u8>),
    /// The attribute has a value with these parts.
    Parts {
        /// Which attribute.
        attribute: String,
        /// What the value begins with, if not empty.
        begin: Vec<u8>,
        /// What follows somewhere, in this order; none is empty.
        middle: Vec<Vec<u8>>,
        /// What it ends with, if not empty.
        end: Vec<u8>,
    },
    /// A matching rule says that the value matches.
    Rule {
        /// Which rule, by name or number; the attribute's own if unset.
        rule: Option<String>,
        /// Which attribute; any that the rule is for if unset.
        attribute: Option<String>,
        /// What is compared.
        value: Vec<u8>,
        /// Whether the entry's name is looked at as well.
        name_too: bool,
    },
}

/// A text is no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{problem}, at character {at} of the filter (RFC 4515)")]
pub struct FilterError {
    /// Which byte, counted from 1.
    pub at: usize,
    /// What is wrong.
    pub problem: &'static str,
}

impl Filter {
    /// Reads a filter's text.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser {
            text: text.as_bytes(),
            at: 0,
        };
        let filter = parser.filter(0)?;
        if parser.at != parser.text.len() {
            return Err(parser.error("there is more after the last \")\""));
        }
        Ok(filter)
    }

    /// The filter's bytes in a request.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::And(filters) => list(0xa0, filters),
            Self::Or(filters) => list(0xa1, filters),
            Self::Not(filter) => ber::element(0xa2, &[&filter.encode()]),
            Self::Present(attribute) => ber::element(0x87, &[attribute.as_bytes()]),
            Self::Equal(attribute, value) => assertion(0xa3, attribute, value),
            Self::AtLeast(attribute, value) => assertion(0xa5, attribute, value),
            Self::AtMost(attribute, value) => assertion(0xa6, attribute, value),
            Self::About(attribute, value) => assertion(0xa8, attribute, value),
            Self::Parts {
                attribute,
                begin,
                middle,
                end,
            } => parts(attribute, begin, middle, end),
            Self::Rule {
                rule,
                attribute,
                value,
                name_too,
            } => {
                let field = |tag, text: &Option<String>| {
                    let text = text.as_ref();
                    text.map_or_else(Vec::new, |text| ber::element(tag, &[text.as_bytes()]))
                };
                // FALSE is the default, which need not be sent.
                let name_too: &[u8] = if *name_too { &[0x84, 1, 0xff] } else { &[] };
                let value = ber::element(0x83, &[value]);
                let (rule, attribute) = (field(0x81, rule), field(0x82, attribute));
                ber::element(0xa9, &[&rule, &attribute, &value, name_too])
            }
        }
    }
}

fn list(tag: u8, filters: &[Filter]) -> Vec<u8> {
    let encoded: Vec<u8> = filters.iter().flat_map(Filter::encode).collect();
    ber::element(tag, &[&encoded])
}

fn assertion(tag: u8, attribute: &str, value: &[u8]) -> Vec<u8> {
    let parts = [ber::octets(attribute.as_bytes()), ber::octets(value)];
    ber::element(tag, &[&parts[0], &parts[1]])
}

fn parts(attribute: &str, begin: &[u8], middle: &[Vec<u8>], end: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    if !begin.is_empty() {
        found.extend(ber::element(0x80, &[begin]));
    }
    for part in middle {
        found.extend(ber::element(0x81, &[part]));
    }
    if !end.is_empty() {
        found.extend(ber::element(0x82, &[end]));
    }
    let found = ber::element(ber::SEQUENCE, &[&found]);
    ber::element(0xa4, &[&ber::octets(attribute.as_bytes()), &found])
}

/// Whether a text can name an attribute: a name or number, with options (RFC 4512 §2.5).
pub fn is_attribute(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-.;_".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(letters)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, problem: &'static str) -> FilterError {
        FilterError {
            at: self.at + 1,
            problem,
        }
    }

    fn next_is(&self, byte: u8) -> bool {
        self.text.get(self.at) == Some(&byte)
    }

    fn take(&mut self, byte: u8, problem: &'static str) -> Result<(), FilterError> {
        if !self.next_is(byte) {
            return Err(self.error(problem));
        }
        self.at += 1;
        Ok(())
    }

    fn filter(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth == MAX_DEPTH {
            return Err(self.error("it is nested too deep"));
        }
        self.take(b'(', "a filter must begin with \"(\"")?;
        let filter = match self.text.get(self.at) {
            Some(b'&') => Filter::And(self.filters(depth)?),
            Some(b'|') => Filter::Or(self.filters(depth)?),
            Some(b'!') => {
                self.at += 1;
                Filter::Not(Box::new(self.filter(depth + 1)?))
            }
            _ => self.item()?,
        };
        self.take(b')', "a filter must end with \")\"")?;
        Ok(filter)
    }

    /// What follows `&` or `|`.
    fn filters(&mut self, depth: usize) -> Result<Vec<Filter>, FilterError> {
        self.at += 1;
        let mut filters = Vec::new();
        while self.next_is(b'(') {
            filters.push(self.filter(depth + 1)?);
        }
        Ok(filters)
    }

    fn item(&mut self) -> Result<Filter, FilterError> {
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .take_while(|byte| !b"=()".contains(byte))
            .count();
        if rest.get(length) != Some(&b'=') {
            return Err(self.error("there is no \"=\" after an attribute"));
        }
        let left = std::str::from_utf8(&rest[..length]);
        let left = left.map_err(|_| self.error("an attribute's name has other letters"))?;
        let (kind, attribute) = match left.as_bytes().last() {
            Some(sign @ (b'>' | b'<' | b'~' | b':')) => (*sign, &left[..length - 1]),
            _ => (b'=', left),
        };
        let filter = if kind == b':' {
            self.rule(attribute)?
        } else {
            if !is_attribute(attribute) {
                return Err(self.error("an attribute's name has other letters"));
            }
            Filter::Present(attribute.to_owned())
        };
        self.at += length + 1;
        self.assert(kind, filter)
    }

    /// `attribute:dn:rule`, each of which may be missing, but not both attribute and rule.
    fn rule(&self, left: &str) -> Result<Filter, FilterError> {
        let mut fields = left.split(':');
        let attribute = fields.next().filter(|name| !name.is_empty());
        let mut fields = fields.peekable();
        let name_too = fields
            .next_if(|field| field.eq_ignore_ascii_case("dn"))
            .is_some();
        let rule = fields.next();
        let good = |name: &&str| is_attribute(name);
        if fields.next().is_some()
            || (attribute.is_none() && rule.is_none())
            || !attribute.iter().all(good)
            || !rule.iter().all(good)
        {
            return Err(self.error("a matching rule is written attribute:rule:=value"));
        }
        Ok(Filter::Rule {
            rule: rule.map(str::to_owned),
            attribute: attribute.map(str::to_owned),
            value: Vec::new(),
            name_too,
        })
    }

    /// Reads the value, and puts it into what was read of the filter before it.
    fn assert(&mut self, kind: u8, filter: Filter) -> Result<Filter, FilterError> {
        let mut parts = vec![self.value()?];
        while kind == b'=' && self.next_is(b'*') {
            self.at += 1;
            parts.push(self.value()?);
        }
        Ok(match (filter, parts.len()) {
            (Filter::Present(name), 1) => {
                let value = parts.remove(0);
                match kind {
                    b'>' => Filter::AtLeast(name, value),
                    b'<' => Filter::AtMost(name, value),
                    b'~' => Filter::About(name, value),
                    _ => Filter::Equal(name, value),
                }
            }
            (Filter::Present(name), _) if parts.iter().all(Vec::is_empty) => Filter::Present(name),
            (Filter::Present(attribute), count) => {
                let end = parts.remove(count - 1);
                let begin = parts.remove(0);
                parts.retain(|part| !part.is_empty());
                Filter::Parts {
                    attribute,
                    begin,
                    middle: parts,
                    end,
                }
            }
            (
                Filter::Rule {
                    rule,
                    attribute,
                    name_too,
                    ..
                },
                _,
            ) => Filter::Rule {
                rule,
                attribute,
                value: parts.remove(0),
                name_too,
            },
            (other, _) => other,
        })
    }

    /// Reads up to what ends a value, or a part of it.
    fn value(&mut self) -> Result<Vec<u8>, FilterError> {
        let mut value = Vec::new();
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'\\' => {
                    let digits = self.text.get(self.at + 1..self.at + 3);
                    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                    let escaped = digits.and_then(|digits| {
                        let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                        u8::from_str_radix(digits, 16).ok().filter(|_| hex)
                    });
                    let problem = "\"\\\" must be followed by two hexadecimal digits";
                    value.push(escaped.ok_or_else(|| self.error(problem))?);
                    self.at += 3;
                }
                byte if SPECIAL.contains(byte) => break,
                byte => {
                    value.push(*byte);
                    self.at += 1;
                }
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
