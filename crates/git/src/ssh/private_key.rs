//! Private keys of users: OpenSSH's format, PKCS #8, PKCS #1 and SEC 1.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPairComponents, PublicKeyComponents};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA512, RsaKeyPair,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::SshError;
use super::wire::{Reader, Writer};

/// The longest private key, in bytes of its text.
const MAX_TEXT: usize = 64 << 10;

/// The curves of ECDSA keys, each with the size of its numbers.
const CURVES: &[(&str, &EcdsaSigningAlgorithm)] = &[
    ("nistp256", &ECDSA_P256_SHA256_FIXED_SIGNING),
    ("nistp384", &ECDSA_P384_SHA384_FIXED_SIGNING),
    ("nistp521", &ECDSA_P521_SHA512_FIXED_SIGNING),
];

/// A private key for the authentication of a user.
pub(crate) enum PrivateKey {
    Ed25519(Ed25519KeyPair),
    Ecdsa(&'static str, EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateKey")
    }
}

const INVALID: SshError = SshError::PrivateKey("it is damaged");
const UNSUPPORTED: SshError = SshError::PrivateKey("its type is not supported");
const ENCRYPTED: SshError = SshError::PrivateKey("it is protected with a passphrase");

fn invalid<E>(_: E) -> SshError {
    INVALID
}

impl PrivateKey {
    /// Parses a private key.
    pub(crate) fn parse(text: &str) -> Result<Self, SshError> {
        if text.len() > MAX_TEXT {
            return Err(SshError::PrivateKey("it is too long"));
        }
        let (label, body) = pem(text)?;
        match label {
            "OPENSSH PRIVATE KEY" => openssh(&body),
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&body).map(Self::Rsa).map_err(invalid),
            "EC PRIVATE KEY" => {
                ecdsa(|algorithm| EcdsaKeyPair::from_private_key_der(algorithm, &body).ok())
            }
            "PRIVATE KEY" => pkcs8(&body),
            "ENCRYPTED PRIVATE KEY" => Err(ENCRYPTED),
            _ => Err(UNSUPPORTED),
        }
    }

    /// Returns the name of the algorithm of signatures.
    pub(super) fn algorithm(&self) -> String {
        match self {
            Self::Ed25519(_) => "ssh-ed25519".to_owned(),
            Self::Ecdsa(curve, _) => format!("ecdsa-sha2-{curve}"),
            Self::Rsa(_) => "rsa-sha2-512".to_owned(),
        }
    }

    /// Returns the public key as in SSH messages.
    pub(crate) fn public_key(&self) -> Result<Vec<u8>, SshError> {
        Ok(match self {
            Self::Ed25519(pair) => Writer::default()
                .string("ssh-ed25519")
                .string(pair.public_key().as_ref()),
            Self::Ecdsa(curve, pair) => Writer::default()
                .string(self.algorithm())
                .string(curve)
                .string(pair.public_key().as_ref()),
            Self::Rsa(pair) => {
                let (n, e) = rsa_public(pair.public_key().as_ref()).ok_or(INVALID)?;
                Writer::default().string("ssh-rsa").integer(e).integer(n)
            }
        }
        .bytes)
    }

    /// Returns the signature of a message as in SSH messages.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SshError> {
        let failed = |_| SshError::PrivateKey("it cannot create a signature");
        let random = SystemRandom::new();
        let value = match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Ecdsa(_, pair) => {
                let signature = pair.sign(&random, message).map_err(failed)?;
                let (r, s) = signature.as_ref().split_at(signature.as_ref().len() / 2);
                Writer::default().integer(r).integer(s).bytes
            }
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA512, &random, message, &mut signature)
                    .map_err(failed)?;
                signature
            }
        };
        let signature = Writer::default().string(self.algorithm()).string(value);
        Ok(signature.bytes)
    }
}

/// Returns the label and the content of a PEM block.
fn pem(text: &str) -> Result<(&str, Vec<u8>), SshError> {
    const MISSING: SshError = SshError::PrivateKey("it is not in PEM format");
    let start = text.find("-----BEGIN ").ok_or(MISSING)? + "-----BEGIN ".len();
    let (label, rest) = text[start..].split_once("-----").ok_or(MISSING)?;
    let (body, _) = rest.split_once("-----END ").ok_or(MISSING)?;
    // Encrypted PKCS #1 keys have headers.
    if body.contains("ENCRYPTED") {
        return Err(ENCRYPTED);
    }
    let body: String = body.split_ascii_whitespace().collect();
    let body = BASE64_STANDARD.decode(body).map_err(invalid)?;
    Ok((label, body))
}

fn ecdsa(
    parse: impl Fn(&'static EcdsaSigningAlgorithm) -> Option<EcdsaKeyPair>,
) -> Result<PrivateKey, SshError> {
    CURVES
        .iter()
        .find_map(|(curve, algorithm)| Some(PrivateKey::Ecdsa(curve, parse(algorithm)?)))
        .ok_or(INVALID)
}

fn pkcs8(body: &[u8]) -> Result<PrivateKey, SshError> {
    if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(body) {
        return Ok(PrivateKey::Ed25519(pair));
    }
    if let Ok(pair) = RsaKeyPair::from_pkcs8(body) {
        return Ok(PrivateKey::Rsa(pair));
    }
    ecdsa(|algorithm| EcdsaKeyPair::from_pkcs8(algorithm, body).ok())
}

/// Parses OpenSSH's own format (`PROTOCOL.key`).
fn openssh(body: &[u8]) -> Result<PrivateKey, SshError> {
    let body = body.strip_prefix(b"openssh-key-v1\0").ok_or(INVALID)?;
    let mut fields = Reader::new(body);
    if fields.text().map_err(invalid)? != "none" {
        return Err(ENCRYPTED);
    }
    let mut private = || {
        fields.string()?;
        fields.string()?;
        if fields.number()? != 1 {
            return Err(INVALID);
        }
        fields.string()?;
        fields.string()
    };
    let private = private().map_err(invalid)?;
    let mut fields = Reader::new(private);
    if fields.number().map_err(invalid)? != fields.number().map_err(invalid)? {
        return Err(INVALID);
    }
    match fields.text().map_err(invalid)? {
        "ssh-ed25519" => {
            let public = fields.string().map_err(invalid)?;
            let pair = fields.string().map_err(invalid)?;
            let seed = pair.get(..32).ok_or(INVALID)?;
            Ed25519KeyPair::from_seed_and_public_key(seed, public)
                .map(PrivateKey::Ed25519)
                .map_err(invalid)
        }
        "ssh-rsa" => rsa(&mut fields),
        kind if kind.starts_with("ecdsa-sha2-") => {
            let name = fields.text().map_err(invalid)?;
            let public = fields.string().map_err(invalid)?;
            let private = fields.integer().map_err(invalid)?;
            let (curve, algorithm) = CURVES
                .iter()
                .find(|(curve, _)| *curve == name)
                .ok_or(UNSUPPORTED)?;
            // An uncompressed point has one byte and two numbers.
            let size = public.len() / 2;
            let mut scalar = vec![0; size.checked_sub(private.len()).ok_or(INVALID)?];
            scalar.extend_from_slice(private);
            EcdsaKeyPair::from_private_key_and_public_key(algorithm, &scalar, public)
                .map(|pair| PrivateKey::Ecdsa(curve, pair))
                .map_err(invalid)
        }
        _ => Err(UNSUPPORTED),
    }
}

#[expect(clippy::many_single_char_names, reason = "RFC 8017 uses these names")]
fn rsa(fields: &mut Reader<'_>) -> Result<PrivateKey, SshError> {
    let mut next = || fields.integer().map_err(invalid);
    let (n, e, d, q_inverse, p, q) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let d_p = remainder(d, p).ok_or(INVALID)?;
    let d_q = remainder(d, q).ok_or(INVALID)?;
    RsaKeyPair::from_components(&KeyPairComponents {
        public_key: PublicKeyComponents { n, e },
        d,
        p,
        q,
        dP: d_p.as_slice(),
        dQ: d_q.as_slice(),
        qInv: q_inverse,
    })
    .map(PrivateKey::Rsa)
    .map_err(invalid)
}

/// Returns `value mod (odd - 1)`, which OpenSSH's format omits. The numbers are big-endian.
fn remainder(value: &[u8], odd: &[u8]) -> Option<Vec<u8>> {
    // RSA keys of aws-lc-rs have at most 8192 bits.
    if value.len() > 1024 || odd.len() > 1024 || odd.len() < 2 || odd.last()? % 2 == 0 {
        return None;
    }
    let mut modulus = vec![0];
    modulus.extend_from_slice(odd);
    *modulus.last_mut()? -= 1;
    let mut rest = vec![0_u8; modulus.len()];
    for byte in value {
        for bit in (0..8).rev() {
            let mut carry = (byte >> bit) & 1;
            for digit in rest.iter_mut().rev() {
                let high = *digit >> 7;
                *digit = (*digit << 1) | carry;
                carry = high;
            }
            // Big-endian numbers of the same length compare as bytes.
            if rest >= modulus {
                let mut borrow = false;
                for (digit, subtrahend) in rest.iter_mut().zip(&modulus).rev() {
                    let (first, one) = digit.overflowing_sub(*subtrahend);
                    let (second, two) = first.overflowing_sub(u8::from(borrow));
                    *digit = second;
                    borrow = one || two;
                }
            }
        }
    }
    Some(rest)
}

/// Returns the modulus and the exponent of an `RSAPublicKey` (RFC 8017, appendix A.1.1).
fn rsa_public(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sequence, _) = der_value(der, 0x30)?;
    let (n, rest) = der_value(sequence, 0x02)?;
    let (e, _) = der_value(rest, 0x02)?;
    Some((n, e))
}

/// Returns the content of a DER value, and the bytes after the value.
fn der_value(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let rest = der.strip_prefix(&[tag])?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let length = digits.iter().try_fold(0_usize, |length, digit| {
            length.checked_mul(256)?.checked_add(usize::from(*digit))
        })?;
        (length, rest)
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn remainder_equals_integer_arithmetic(value in any::<u128>(), odd in 3_u64..) {
            let odd = odd | 1;
            let rest = remainder(&value.to_be_bytes(), &odd.to_be_bytes()).unwrap();
            let rest = rest.iter().fold(0_u128, |number, digit| number << 8 | u128::from(*digit));
            prop_assert_eq!(rest, value % u128::from(odd - 1));
        }
    }

    #[test]
    fn unusable_keys_have_a_reason() {
        for (text, reason) in [
            ("", "it is not in PEM format"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----",
                "it is protected with a passphrase",
            ),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
                "it is damaged",
            ),
            (
                "-----BEGIN DSA PRIVATE KEY-----\nAAAA\n-----END DSA PRIVATE KEY-----",
                "its type is not supported",
            ),
        ] {
            assert_eq!(
                PrivateKey::parse(text).unwrap_err(),
                SshError::PrivateKey(reason)
            );
        }
    }
}
