//! The subset of the Basic Encoding Rules that LDAP uses (RFC 4511 §5.1). Tags have one byte, and
//! lengths are definite.

use super::Malformed;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// Mask of the first byte of a tag. A multi-byte tag has all bits of the mask set. LDAP has no
/// multi-byte tags.
const LONG_TAG: u8 = 0x1f;
/// Flag in the first length byte. With this flag, the lower bits contain the number of following
/// length bytes.
const LONG_LENGTH: u8 = 0x80;

/// Tag and length of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) tag: u8,
    /// Length of the header in bytes.
    pub(crate) length: usize,
    /// Length of the content in bytes.
    pub(crate) content: usize,
}

/// Parses a header. Returns `None` if the header is incomplete.
pub(crate) fn header(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let [tag, first, rest @ ..] = bytes else {
        return Ok(None);
    };
    if tag & LONG_TAG == LONG_TAG {
        return Err(Malformed("a tag is invalid in LDAP"));
    }
    if first & LONG_LENGTH == 0 {
        return Ok(Some(Header {
            tag: *tag,
            length: 2,
            content: usize::from(*first),
        }));
    }
    let count = usize::from(first & !LONG_LENGTH);
    // Count zero is the indefinite form, which RFC 4511 §5.1 forbids.
    if !(1..=4).contains(&count) {
        return Err(Malformed(
            "a length has an encoding that is invalid in LDAP",
        ));
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
        content: usize::try_from(content).map_err(|_| Malformed("a length is too large"))?,
    }))
}

/// A reader of consecutive elements in a byte slice.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the next element. Returns its tag and content.
    pub(crate) fn element(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let short = Malformed("an element is truncated");
        let header = header(self.0)?.ok_or(short)?;
        let (_, rest) = self.0.split_at_checked(header.length).ok_or(short)?;
        let (content, rest) = rest.split_at_checked(header.content).ok_or(short)?;
        self.0 = rest;
        Ok((header.tag, content))
    }

    /// Reads the next element and returns its content. Returns an error if the element has a
    /// different tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.element()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Malformed("an element has an unexpected tag")),
        }
    }

    /// Reads a number from 0 to 2³¹ − 1. All LDAP numbers are in this range (RFC 4511 §4.1.1,
    /// `maxInt`).
    pub(crate) fn number(&mut self, tag: u8) -> Result<u32, Malformed> {
        let digits = self.expect(tag)?;
        if digits.is_empty() || digits.len() > 4 || digits[0] & 0x80 != 0 {
            return Err(Malformed("a number is out of range"));
        }
        Ok(digits
            .iter()
            .fold(0, |sum, digit| (sum << 8) | u32::from(*digit)))
    }

    /// Reads an `LDAPString`.
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.expect(OCTETS)?).map_err(|_| Malformed("a text is not UTF-8"))
    }
}

/// Encodes an element. The content is the concatenation of `parts`.
pub(crate) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = vec![tag];
    let digits = content.to_be_bytes();
    if content < usize::from(LONG_LENGTH) {
        bytes.push(digits[digits.len() - 1]);
    } else {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let digits = &digits[zeros..];
        let count = u8::try_from(digits.len()).expect("a usize has at most 8 bytes");
        bytes.push(LONG_LENGTH | count);
        bytes.extend_from_slice(digits);
    }
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Encodes a number from 0 to 2³¹ − 1.
pub(crate) fn number(tag: u8, value: u32) -> Vec<u8> {
    let digits = value.to_be_bytes();
    let zeros = digits
        .iter()
        .take(3)
        .take_while(|digit| **digit == 0)
        .count();
    // A leading zero byte keeps a number with a set first bit positive.
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
    fn ber_numbers_round_trip() {
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
    fn ber_elements_round_trip() {
        for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let content = vec![7; length];
            let bytes = element(SEQUENCE, &[&content, &[1]]);
            let (tag, read) = Reader::new(&bytes).element().unwrap();
            assert_eq!((tag, read.len()), (SEQUENCE, length + 1));
        }
    }

    #[test]
    fn truncated_and_invalid_ber_elements_are_rejected() {
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
