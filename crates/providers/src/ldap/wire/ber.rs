//! The Basic Encoding Rules, as far as LDAP goes (RFC 4511 §5.1): one byte of tag, definite lengths.

use super::Malformed;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// Bits of a tag's first byte which, all set, say that its number follows: LDAP has no such tag.
const LONG_TAG: u8 = 0x1f;
/// Of a length's first byte: how many bytes of length follow.
const LONG_LENGTH: u8 = 0x80;

/// What stands before an element's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) tag: u8,
    /// Bytes of the header itself.
    pub(crate) length: usize,
    /// Bytes of the content after it.
    pub(crate) content: usize,
}

/// Reads a header; nothing if more bytes are needed.
pub(crate) fn header(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let [tag, first, rest @ ..] = bytes else {
        return Ok(None);
    };
    if tag & LONG_TAG == LONG_TAG {
        return Err(Malformed("a tag is of a kind that LDAP does not have"));
    }
    if first & LONG_LENGTH == 0 {
        return Ok(Some(Header {
            tag: *tag,
            length: 2,
            content: usize::from(*first),
        }));
    }
    let count = usize::from(first & !LONG_LENGTH);
    // Zero is the indefinite form, which RFC 4511 §5.1 forbids.
    if !(1..=4).contains(&count) {
        return Err(Malformed("a length is of a form that LDAP does not have"));
    }
    let Some(digits) = rest.get(..count) else {
        return Ok(None);
    };
    let content = digits
        .iter()
        .fold(0_u64, |sum, digit| (sum << 8) | u64::from(*digit));
    Ok(Some(Header {
        tag: *tag,
        length: 2 + count,
        content: usize::try_from(content).map_err(|_| Malformed("a length is too great"))?,
    }))
}

/// Takes one element after the other off some bytes.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element: its tag and its content.
    pub(crate) fn element(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let short = Malformed("an element ends too early");
        let header = header(self.0)?.ok_or(short)?;
        let (_, rest) = self.0.split_at_checked(header.length).ok_or(short)?;
        let (content, rest) = rest.split_at_checked(header.content).ok_or(short)?;
        self.0 = rest;
        Ok((header.tag, content))
    }

    /// The next element's content, if it has this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.element()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Malformed("an element is not what is expected there")),
        }
    }

    /// A number from 0 to 2³¹ − 1, which all of LDAP's are (RFC 4511 §4.1.1, `maxInt`).
    pub(crate) fn number(&mut self, tag: u8) -> Result<u32, Malformed> {
        let digits = self.expect(tag)?;
        if digits.is_empty() || digits.len() > 4 || digits[0] & 0x80 != 0 {
            return Err(Malformed("a number is none that LDAP has"));
        }
        Ok(digits
            .iter()
            .fold(0, |sum, digit| (sum << 8) | u32::from(*digit)))
    }

    /// An `LDAPString`.
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.expect(OCTETS)?).map_err(|_| Malformed("a text is not UTF-8"))
    }
}

/// An element whose content is these parts, one after the other.
pub(crate) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = vec![tag];
    let digits = content.to_be_bytes();
    if content < usize::from(LONG_LENGTH) {
        bytes.push(digits[digits.len() - 1]);
    } else {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let digits = &digits[zeros..];
        let count = u8::try_from(digits.len()).expect("a usize has a few bytes");
        bytes.push(LONG_LENGTH | count);
        bytes.extend_from_slice(digits);
    }
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A number from 0 to 2³¹ − 1.
pub(crate) fn number(tag: u8, value: u32) -> Vec<u8> {
    let digits = value.to_be_bytes();
    let zeros = digits
        .iter()
        .take(3)
        .take_while(|digit| **digit == 0)
        .count();
    // A first bit that is set would make it negative.
    let sign: &[u8] = if digits[zeros] & 0x80 == 0 { &[] } else { &[0] };
    element(tag, &[sign, &digits[zeros..]])
}

pub(crate) fn octets(value: &[u8]) -> Vec<u8> {
    element(OCTETS, &[value])
}

pub(crate) fn boolean(value: bool) -> Vec<u8> {
    element(BOOLEAN, &[&[if value { 0xff } else { 0 }]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [
            0,
            1,
            127,
            128,
            255,
            256,
            32_767,
            32_768,
            8_388_608,
            0x7fff_ffff,
        ] {
            let bytes = number(INTEGER, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(INTEGER), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn elements_are_read_as_they_were_written() {
        for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let content = vec![7; length];
            let bytes = element(SEQUENCE, &[&content, &[1]]);
            let (tag, read) = Reader::new(&bytes).element().unwrap();
            assert_eq!((tag, read.len()), (SEQUENCE, length + 1));
        }
    }

    #[test]
    fn what_ends_early_or_has_another_form_is_refused() {
        for bytes in [
            &[0x30][..],
            &[0x30, 0x80, 0, 0],
            &[0x30, 0x85, 0, 0, 0, 0, 0],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x3f, 0x01, 0x00],
            &[0x30, 0x02, 0x00],
        ] {
            assert!(Reader::new(bytes).element().is_err(), "{bytes:x?}");
        }
        for bytes in [
            &[2, 0][..],
            &[2, 1, 0x80],
            &[2, 5, 0, 0, 0, 0, 1],
            &[4, 1, 1],
        ] {
            assert!(Reader::new(bytes).number(INTEGER).is_err(), "{bytes:x?}");
        }
    }
}
