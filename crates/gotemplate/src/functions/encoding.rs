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
    fixed("sha1sum", &[Str], |args| hash(args, &digest::SHA1_FOR_LEGACY_USE_ONLY)),
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
        let number = block.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
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
/// invalid character as Go counts it.
fn decode(text: &[u8], encoding: &Encoding) -> Result<Vec<u8>, usize> {
    let characters: Vec<(usize, u8)> = text
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let mut out = Vec::new();
    let mut blocks = characters.chunks(encoding.block).peekable();
    while let Some(block) = blocks.next() {
        let (mut buffer, mut bits, mut digits) = (0_u64, 0, 0);
        for (at, byte) in block {
            let Some(digit) = encoding.alphabet.iter().position(|it| it == byte) else {
                break;
            };
            let _ = at;
            buffer = buffer << encoding.bits | u64::try_from(digit).unwrap_or(0);
            bits += encoding.bits;
            digits += 1;
        }
        check_block(block, digits, blocks.peek().is_some(), text.len(), encoding, &characters)?;
        let bytes = bits / 8;
        buffer >>= bits - bytes * 8;
        out.extend((0..bytes).rev().map(|at| (buffer >> (8 * at)).to_le_bytes()[0]));
    }
    Ok(out)
}

/// Checks the characters of a block after its digits.
fn check_block(
    block: &[(usize, u8)],
    digits: usize,
    has_next: bool,
    length: usize,
    encoding: &Encoding,
    characters: &[(usize, u8)],
) -> Result<(), usize> {
    if digits == encoding.block {
        return Ok(());
    }
    let Some((at, byte)) = block.get(digits) else {
        // The text ends inside of a block.
        let start = block.first().map_or(length, |(at, _)| *at);
        return Err(if encoding.bits == 6 { start } else { length });
    };
    if *byte != b'=' {
        return Err(*at);
    }
    let valid: &[usize] = if encoding.bits == 6 {
        &[2, 3]
    } else {
        &[2, 4, 5, 7]
    };
    if !valid.contains(&digits) {
        return Err(*at);
    }
    for offset in digits..encoding.block {
        match block.get(offset) {
            None => return Err(length),
            Some((at, byte)) if *byte != b'=' => return Err(*at),
            Some(_) => {}
        }
    }
    if has_next {
        let end = block.last().map_or(0, |(at, _)| *at);
        let next = characters.iter().find(|(at, _)| *at > end);
        return Err(next.map_or(length, |(at, _)| *at));
    }
    Ok(())
}
