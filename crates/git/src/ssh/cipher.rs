//! Encryption of packets: AES-GCM (RFC 5647, as OpenSSH implements it) and AES-CTR with HMAC.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptionContext, StreamingDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;

use super::SshError;

/// The bytes of a block of AES.
pub(super) const BLOCK: usize = 16;
/// The bytes of the tag of AES-GCM.
const TAG: usize = 16;

/// The supported ciphers, the preferred cipher first.
pub(super) const CIPHERS: &[&str] = &[
    "aes256-gcm@openssh.com",
    "aes128-gcm@openssh.com",
    "aes256-ctr",
    "aes128-ctr",
];
/// The supported codes for message authentication with AES-CTR.
pub(super) const CODES: &[&str] = &[
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
];

/// The keys of one direction.
pub(super) enum Cipher {
    Plain,
    Gcm {
        key: LessSafeKey,
        nonce: [u8; 12],
    },
    /// In counter mode, encryption and decryption are the same operation.
    Counter {
        stream: StreamingDecryptingKey,
        code: Box<hmac::Key>,
        /// The code covers the encrypted packet, and the length is not encrypted.
        encrypt_then_mac: bool,
    },
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Cipher")
    }
}

fn failed<E>(_: E) -> SshError {
    SshError::protocol("a packet cannot be encrypted or decrypted")
}

/// Returns the name of the code if the cipher needs a code.
pub(super) fn needs_code(cipher: &str) -> bool {
    cipher.ends_with("-ctr")
}

impl Cipher {
    /// Creates a cipher. `derive` returns the key for a letter of RFC 4253, section 7.2.
    pub(super) fn new(
        cipher: &str,
        code: &str,
        (nonce, key, integrity): (char, char, char),
        derive: &dyn Fn(char, usize) -> Vec<u8>,
    ) -> Result<Self, SshError> {
        let bits_256 = cipher.starts_with("aes256");
        let key = derive(key, if bits_256 { 32 } else { 16 });
        if !needs_code(cipher) {
            let algorithm = if bits_256 { &AES_256_GCM } else { &AES_128_GCM };
            let mut first = [0; 12];
            first.copy_from_slice(&derive(nonce, 12));
            return Ok(Self::Gcm {
                key: LessSafeKey::new(UnboundKey::new(algorithm, &key).map_err(failed)?),
                nonce: first,
            });
        }
        let algorithm = if bits_256 { &AES_256 } else { &AES_128 };
        let (hash, size) = if code.starts_with("hmac-sha2-512") {
            (hmac::HMAC_SHA512, 64)
        } else {
            (hmac::HMAC_SHA256, 32)
        };
        let mut counter = [0; BLOCK];
        counter.copy_from_slice(&derive(nonce, BLOCK));
        let key = UnboundCipherKey::new(algorithm, &key).map_err(failed)?;
        let context = DecryptionContext::Iv128(FixedLength::from(counter));
        Ok(Self::Counter {
            stream: StreamingDecryptingKey::ctr(key, context).map_err(failed)?,
            code: Box::new(hmac::Key::new(hash, &derive(integrity, size))),
            encrypt_then_mac: code.ends_with("-etm@openssh.com"),
        })
    }

    /// Reports whether the length of a packet is outside of the encrypted part.
    pub(super) const fn has_plain_length(&self) -> bool {
        match self {
            Self::Plain | Self::Gcm { .. } => true,
            Self::Counter {
                encrypt_then_mac, ..
            } => *encrypt_then_mac,
        }
    }

    /// Returns the bytes after the padding of a packet.
    pub(super) fn tag_len(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Gcm { .. } => TAG,
            Self::Counter { code, .. } => code.algorithm().digest_algorithm().output_len(),
        }
    }

    pub(super) const fn block(&self) -> usize {
        match self {
            Self::Plain => 8,
            Self::Gcm { .. } | Self::Counter { .. } => BLOCK,
        }
    }

    /// Encrypts a packet in place and appends the tag.
    pub(super) fn seal(&mut self, sequence: u32, packet: &mut Vec<u8>) -> Result<(), SshError> {
        match self {
            Self::Plain => {}
            Self::Gcm { key, nonce } => {
                let (length, body) = packet.split_at_mut(4);
                let tag = key
                    .seal_in_place_separate_tag(next(nonce), Aad::from(&*length), body)
                    .map_err(failed)?;
                packet.extend_from_slice(tag.as_ref());
            }
            Self::Counter {
                stream,
                code,
                encrypt_then_mac,
            } => {
                let tag = if *encrypt_then_mac {
                    apply(stream, &mut packet[4..])?;
                    tag(code, sequence, packet)
                } else {
                    let tag = tag(code, sequence, packet);
                    apply(stream, packet)?;
                    tag
                };
                packet.extend_from_slice(tag.as_ref());
            }
        }
        Ok(())
    }

    /// Decrypts the first block of a packet, if the length is encrypted.
    pub(super) fn open_first(&mut self, block: &mut [u8]) -> Result<(), SshError> {
        match self {
            Self::Counter {
                stream,
                encrypt_then_mac: false,
                ..
            } => apply(stream, block),
            _ => Ok(()),
        }
    }

    /// Checks the tag of a packet and decrypts the packet in place. `opened` bytes at its start are
    /// already decrypted.
    pub(super) fn open(
        &mut self,
        sequence: u32,
        packet: &mut [u8],
        opened: usize,
        received: &[u8],
    ) -> Result<(), SshError> {
        let damaged = |_| SshError::protocol("a packet is damaged");
        match self {
            Self::Plain => {}
            Self::Gcm { key, nonce } => {
                let (length, body) = packet.split_at_mut(4);
                key.open_in_place_separate_tag(next(nonce), Aad::from(&*length), received, body)
                    .map_err(damaged)?;
            }
            Self::Counter {
                stream,
                code,
                encrypt_then_mac,
            } => {
                if *encrypt_then_mac {
                    verify(code, sequence, packet, received).map_err(damaged)?;
                    apply(stream, &mut packet[4..])?;
                } else {
                    apply(stream, &mut packet[opened..])?;
                    verify(code, sequence, packet, received).map_err(damaged)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the present nonce and increments its counter.
fn next(nonce: &mut [u8; 12]) -> Nonce {
    let present = Nonce::assume_unique_for_key(*nonce);
    let mut counter = [0; 8];
    counter.copy_from_slice(&nonce[4..]);
    nonce[4..].copy_from_slice(&u64::from_be_bytes(counter).wrapping_add(1).to_be_bytes());
    present
}

fn apply(stream: &mut StreamingDecryptingKey, bytes: &mut [u8]) -> Result<(), SshError> {
    let mut output = vec![0; bytes.len() + BLOCK];
    let update = stream.update(bytes, &mut output).map_err(failed)?;
    let written = update.written();
    if written.len() != bytes.len() {
        return Err(failed(()));
    }
    bytes.copy_from_slice(written);
    Ok(())
}

fn tag(code: &hmac::Key, sequence: u32, packet: &[u8]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(code);
    context.update(&sequence.to_be_bytes());
    context.update(packet);
    context.sign()
}

fn verify(
    code: &hmac::Key,
    sequence: u32,
    packet: &[u8],
    received: &[u8],
) -> Result<(), aws_lc_rs::error::Unspecified> {
    let expected = tag(code, sequence, packet);
    aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_ref(), received)
}
