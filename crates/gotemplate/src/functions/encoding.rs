//! Functions that encode and hash texts.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Type::Str;
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("b64enc", &[Str], |args| {
        args.reserve(2, args.bytes(0).len())?;
        Ok(Value::str(STANDARD.encode(args.bytes(0))))
    }),
    fixed("b64dec", &[Str], |args| {
        args.reserve(1, args.bytes(0).len())?;
        Ok(decoded(decode(args.bytes(0), &BASE64), "base64"))
    }),
    fixed("b32enc", &[Str], |args| {
        args.reserve(2, args.bytes(0).len())?;
        Ok(Value::str(encode_base32(args.bytes(0))))
    }),
    fixed("b32dec", &[Str], |args| {
        args.reserve(1, args.bytes(0).len())?;
        Ok(decoded(decode(args.bytes(0), &BASE32), "base32"))
    }),
    fixed("sha1sum", &[Str], |args| {
        hash(args, &digest::SHA1_FOR_LEGACY_USE_ONLY)
    }),
    fixed("sha256sum", &[Str], |args| hash(args, &digest::SHA256)),
    fixed("sha512sum", &[Str], |args| hash(args, &digest::SHA512)),
    fixed("adler32sum", &[Str], |args| {
        args.reserve(1, args.bytes(0).len())?;
        Ok(Value::str(adler32(args.bytes(0)).to_string()))
    }),
];

fn hash(args: &Args<'_>, algorithm: &'static digest::Algorithm) -> Result<Value, CallError> {
    args.reserve(1, args.bytes(0).len())?;
    let digest = digest::digest(algorithm, args.bytes(0));
    let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    Ok(Value::str(hex.collect::<String>()))
}

fn adler32(text: &[u8]) -> u32 {
    let mut sums = (1_u32, 0_u32);
    for byte in text {
        sums.0 = (sums.0 + u32::from(*byte)) % 65_521;
        sums.1 = (sums.1 + sums.0) % 65_521;
    }
    sums.1 << 16 | sums.0
}

/// An encoding that maps each group of bits to a character.
struct Encoding {
    alphabet: &'static [u8],
    /// The number of bits in a character.
    bits: usize,
    /// The number of characters in a block.
    block: usize,
}

const BASE64: Encoding = Encoding {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    block: 4,
};

const BASE32: Encoding = Encoding {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    bits: 5,
    block: 8,
};

fn encode_base32(text: &[u8]) -> String {
    let mut out = String::new();
    for chunk in text.chunks(5) {
        let mut block = [0; 5];
        block[..chunk.len()].copy_from_slice(chunk);
        let number = block
            .iter()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let used = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            let index = usize::try_from(number >> (35 - 5 * at) & 31).unwrap_or(0);
            out.push(if at < used {
                char::from(BASE32.alphabet[index])
            } else {
                '='
            });
        }
    }
    out
}

/// Returns the decoded text, or Go's error message as sprig does.
fn decoded(result: Result<Vec<u8>, usize>, name: &str) -> Value {
    match result {
        Ok(text) => Value::str(text),
        Err(at) => Value::str(format!("illegal {name} data at input byte {at}")),
    }
}

/// Decodes a text with padding. Line breaks are ignored. The error is the position of the first
/// invalid character as Go counts it: Go's decoder of base32 does not count line breaks.
fn decode(text: &[u8], encoding: &Encoding) -> Result<Vec<u8>, usize> {
    let is_base64 = encoding.bits == 6;
    let positions = text.iter().copied().enumerate();
    let kept = positions.filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    let characters: Vec<(usize, u8)> = kept
        .enumerate()
        .map(|(index, (at, byte))| (if is_base64 { at } else { index }, byte))
        .collect();
    let length = if is_base64 {
        text.len()
    } else {
        characters.len()
    };
    let mut out = Vec::new();
    let mut blocks = characters.chunks(encoding.block);
    while let Some(block) = blocks.next() {
        let digits: Vec<usize> = block
            .iter()
            .map_while(|(_, byte)| encoding.digit(*byte))
            .collect();
        encoding.check_padding(block, digits.len(), length)?;
        let value = digits.iter().fold(0_u64, |value, digit| {
            value << encoding.bits | u64::try_from(*digit).unwrap_or(0)
        });
        let bits = digits.len() * encoding.bits;
        let value = value >> (bits % 8);
        out.extend(
            (0..bits / 8)
                .rev()
                .map(|at| (value >> (8 * at)).to_le_bytes()[0]),
        );
        if digits.len() < encoding.block {
            // Go's decoder of base32 ignores the text after the padding.
            return match blocks.next().and_then(<[_]>::first) {
                Some((at, _)) if is_base64 => Err(*at),
                _ => Ok(out),
            };
        }
    }
    Ok(out)
}

impl Encoding {
    fn digit(&self, byte: u8) -> Option<usize> {
        self.alphabet.iter().position(|it| *it == byte)
    }

    /// Checks the characters of a block after its digits.
    fn check_padding(
        &self,
        block: &[(usize, u8)],
        digits: usize,
        length: usize,
    ) -> Result<(), usize> {
        if digits == self.block {
            return Ok(());
        }
        match block.get(digits) {
            None => return Err(length - digits),
            Some((at, byte)) if *byte != b'=' => return Err(*at),
            Some(_) => {}
        }
        let valid: &[usize] = if self.bits == 6 {
            &[2, 3]
        } else {
            &[2, 4, 5, 7]
        };
        for offset in digits..self.block {
            match block.get(offset) {
                None => return Err(length),
                Some((at, byte)) if *byte != b'=' => return Err(at.saturating_sub(1)),
                Some((at, _)) if !valid.contains(&digits) => return Err(*at),
                Some(_) => {}
            }
        }
        Ok(())
    }
}
