//! The data types of SSH messages (RFC 4251, section 5).

use super::SshError;

/// Reads the fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], SshError> {
        if count > self.rest.len() {
            return Err(SshError::protocol("a message is too short"));
        }
        let (bytes, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, SshError> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, SshError> {
        self.byte().map(|byte| byte != 0)
    }

    pub(crate) fn number(&mut self) -> Result<u32, SshError> {
        let mut number = [0; 4];
        number.copy_from_slice(self.bytes(4)?);
        Ok(u32::from_be_bytes(number))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], SshError> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, SshError> {
        std::str::from_utf8(self.string()?).map_err(|_| SshError::protocol("a text is not UTF-8"))
    }

    /// Reads a positive integer without leading zeros.
    pub(crate) fn integer(&mut self) -> Result<&'a [u8], SshError> {
        let bytes = self.string()?;
        let start = bytes.iter().position(|byte| *byte != 0);
        Ok(&bytes[start.unwrap_or(bytes.len())..])
    }
}

/// Writes the fields of a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    /// Starts a message.
    pub(crate) fn message(number: u8) -> Self {
        Self {
            bytes: vec![number],
        }
    }

    pub(crate) fn byte(mut self, byte: u8) -> Self {
        self.bytes.push(byte);
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn number(self, number: u32) -> Self {
        self.raw(&number.to_be_bytes())
    }

    /// Writes a string that is shorter than 4 GiB.
    pub(crate) fn string(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX))
            .raw(bytes)
    }

    /// Writes a positive integer.
    pub(crate) fn integer(self, bytes: &[u8]) -> Self {
        let start = bytes.iter().position(|byte| *byte != 0);
        let bytes = &bytes[start.unwrap_or(bytes.len())..];
        if bytes.first().is_some_and(|byte| byte & 0x80 != 0) {
            return self.string([&[0], bytes].concat());
        }
        self.string(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_a_zero_before_a_set_high_bit() {
        // The examples of RFC 4251.
        let written = |bytes: &[u8]| Writer::default().integer(bytes).bytes;
        assert_eq!(written(&[0]), [0, 0, 0, 0]);
        assert_eq!(written(&[0x80]), [0, 0, 0, 2, 0, 0x80]);
        assert_eq!(written(&[0, 0x7f]), [0, 0, 0, 1, 0x7f]);
        let bytes = written(&[0x80, 1]);
        assert_eq!(Reader::new(&bytes).integer().unwrap(), [0x80, 1]);
    }

    #[test]
    fn short_message_is_an_error() {
        assert!(Reader::new(&[0, 0, 0, 5, 1]).string().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff]).string().is_err());
    }
}
