//! LDAP search filters (RFC 4511 §4.5.1.7) and their text form (RFC 4515).
//!
//! Drover parses only the filters of the administrator's configuration from text. Drover never
//! builds filter text from user input. A login name is the value of [`Filter::Equal`]. Drover sends
//! the value with its length, so no character has a special meaning.

use thiserror::Error;

use super::ber;

/// Maximum nesting depth of a configured filter.
const MAX_DEPTH: usize = 32;
/// Characters that must be escaped in a value (RFC 4515 §3).
const SPECIAL: &[u8] = b"()*\\\0";

/// A search filter: a condition on entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All filters in the list match. An empty list matches each entry.
    And(Vec<Self>),
    /// At least one filter in the list matches.
    Or(Vec<Self>),
    /// The inner filter does not match.
    Not(Box<Self>),
    /// The attribute is present.
    Present(String),
    /// The attribute has this value.
    Equal(String, Vec<u8>),
    /// The attribute has a value greater than or equal to this value.
    AtLeast(String, Vec<u8>),
    /// The attribute has a value less than or equal to this value.
    AtMost(String, Vec<u8>),
    /// The attribute approximately matches this value.
    Approximate(String, Vec<u8>),
    /// The attribute has a value with these substrings.
    Substrings {
        /// Name of the attribute.
        attribute: String,
        /// Start of the value. May be empty.
        begin: Vec<u8>,
        /// Substrings of the value, in this order. Each substring is not empty.
        middle: Vec<Vec<u8>>,
        /// End of the value. May be empty.
        end: Vec<u8>,
    },
    /// The attribute has a value that matches the given value by a matching rule.
    Extensible {
        /// Name or OID of the matching rule. `None` for the default rule of the attribute.
        rule: Option<String>,
        /// Name of the attribute. `None` for all attributes that support the rule.
        attribute: Option<String>,
        /// Value to compare.
        value: Vec<u8>,
        /// True if the rule also applies to the attributes of the distinguished name.
        dn_attributes: bool,
    },
}

/// Error of parsing filter text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("invalid filter: {problem} at character {position} (RFC 4515)", position = .at)]
pub struct FilterError {
    /// Position of the error in bytes, counted from 1.
    pub at: usize,
    /// Description of the error.
    pub problem: &'static str,
}

impl Filter {
    /// Parses filter text.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser {
            text: text.as_bytes(),
            at: 0,
        };
        let filter = parser.filter(0)?;
        if parser.at != parser.text.len() {
            return Err(parser.error("unexpected text after the last \")\""));
        }
        Ok(filter)
    }

    /// Encodes the filter for a search request.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::And(filters) => list(0xa0, filters),
            Self::Or(filters) => list(0xa1, filters),
            Self::Not(filter) => ber::element(0xa2, &[&filter.encode()]),
            Self::Present(attribute) => ber::element(0x87, &[attribute.as_bytes()]),
            Self::Equal(attribute, value) => assertion(0xa3, attribute, value),
            Self::AtLeast(attribute, value) => assertion(0xa5, attribute, value),
            Self::AtMost(attribute, value) => assertion(0xa6, attribute, value),
            Self::Approximate(attribute, value) => assertion(0xa8, attribute, value),
            Self::Substrings {
                attribute,
                begin,
                middle,
                end,
            } => parts(attribute, begin, middle, end),
            Self::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => {
                let field = |tag, text: &Option<String>| {
                    let text = text.as_ref();
                    text.map_or_else(Vec::new, |text| ber::element(tag, &[text.as_bytes()]))
                };
                // FALSE is the default and is omitted.
                let dn_attributes: &[u8] = if *dn_attributes {
                    &[0x84, 1, 0xff]
                } else {
                    &[]
                };
                let value = ber::element(0x83, &[value]);
                let (rule, attribute) = (field(0x81, rule), field(0x82, attribute));
                ber::element(0xa9, &[&rule, &attribute, &value, dn_attributes])
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

/// Reports whether a text is an attribute name or OID, with or without attribute options (RFC 4512
/// §2.5).
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
            return Err(self.error("the nesting is too deep"));
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

    /// Parses the list of filters after `&` or `|`.
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
            return Err(self.error("missing \"=\" after an attribute"));
        }
        let attribute_name = std::str::from_utf8(&rest[..length]);
        let attribute_name =
            attribute_name.map_err(|_| self.error("invalid character in an attribute name"))?;
        let (kind, attribute) = match attribute_name.as_bytes().last() {
            Some(sign @ (b'>' | b'<' | b'~' | b':')) => (*sign, &attribute_name[..length - 1]),
            _ => (b'=', attribute_name),
        };
        let filter = if kind == b':' {
            self.rule(attribute)?
        } else {
            if !is_attribute(attribute) {
                return Err(self.error("invalid character in an attribute name"));
            }
            Filter::Present(attribute.to_owned())
        };
        self.at += length + 1;
        self.assert(kind, filter)
    }

    /// Parses `attribute:dn:rule`. All three components are optional, but an attribute or a rule is
    /// required.
    fn rule(&self, remaining: &str) -> Result<Filter, FilterError> {
        let mut fields = remaining.split(':');
        let attribute = fields.next().filter(|name| !name.is_empty());
        let mut fields = fields.peekable();
        let dn_attributes = fields
            .next_if(|field| field.eq_ignore_ascii_case("dn"))
            .is_some();
        let rule = fields.next();
        let good = |name: &&str| is_attribute(name);
        if fields.next().is_some()
            || (attribute.is_none() && rule.is_none())
            || !attribute.iter().all(good)
            || !rule.iter().all(good)
        {
            return Err(self.error("a matching rule must have the form attribute:rule:=value"));
        }
        Ok(Filter::Extensible {
            rule: rule.map(str::to_owned),
            attribute: attribute.map(str::to_owned),
            value: Vec::new(),
            dn_attributes,
        })
    }

    /// Parses the value, and adds the value to `filter`.
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
                    b'~' => Filter::Approximate(name, value),
                    _ => Filter::Equal(name, value),
                }
            }
            (Filter::Present(name), _) if parts.iter().all(Vec::is_empty) => Filter::Present(name),
            (Filter::Present(attribute), count) => {
                let end = parts.remove(count - 1);
                let begin = parts.remove(0);
                parts.retain(|part| !part.is_empty());
                Filter::Substrings {
                    attribute,
                    begin,
                    middle: parts,
                    end,
                }
            }
            (
                Filter::Extensible {
                    rule,
                    attribute,
                    dn_attributes,
                    ..
                },
                _,
            ) => Filter::Extensible {
                rule,
                attribute,
                value: parts.remove(0),
                dn_attributes,
            },
            (other, _) => other,
        })
    }

    /// Parses a value or a substring, up to the next delimiter.
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
