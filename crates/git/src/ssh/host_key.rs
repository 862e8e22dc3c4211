//! Host keys and their signatures.

use aws_lc_rs::rsa::PublicKeyComponents;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
    EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA512,
    UnparsedPublicKey,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;

use super::SshError;
use super::wire::Reader;

/// The algorithms of signatures, each with the type of its key. The preferred algorithm is first.
pub(super) const ALGORITHMS: &[(&str, &str)] = &[
    ("ssh-ed25519", "ssh-ed25519"),
    ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"),
    ("ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"),
    ("ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"),
    ("rsa-sha2-512", "ssh-rsa"),
    ("rsa-sha2-256", "ssh-rsa"),
];

/// Returns the type of a key, for example `ssh-ed25519`.
pub(crate) fn key_type(key: &[u8]) -> Result<&str, SshError> {
    Reader::new(key).text()
}

/// Returns the fingerprint of a key in the format of OpenSSH.
pub(crate) fn fingerprint(key: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, key);
    format!("SHA256:{}", BASE64_STANDARD_NO_PAD.encode(digest.as_ref()))
}

/// Checks the signature of a message by a host key. `algorithm` is the negotiated algorithm.
pub(crate) fn verify(
    key: &[u8],
    algorithm: &str,
    message: &[u8],
    signature: &[u8],
) -> Result<(), SshError> {
    let wrong = || SshError::protocol("the signature of the host key is wrong");
    let mut fields = Reader::new(key);
    let kind = fields.text()?;
    let mut signature = Reader::new(signature);
    let named = signature.text()?;
    let value = signature.string()?;
    if named != algorithm || !ALGORITHMS.contains(&(algorithm, kind)) {
        return Err(SshError::protocol(
            "the host key has an unexpected algorithm",
        ));
    }
    match algorithm {
        "ssh-ed25519" => UnparsedPublicKey::new(&ED25519, fields.string()?)
            .verify(message, value)
            .map_err(|_| wrong()),
        "rsa-sha2-512" | "rsa-sha2-256" => {
            let (e, n) = (fields.integer()?, fields.integer()?);
            let parameters = if algorithm == "rsa-sha2-512" {
                &RSA_PKCS1_2048_8192_SHA512
            } else {
                &RSA_PKCS1_2048_8192_SHA256
            };
            PublicKeyComponents { n, e }
                .verify(parameters, message, value)
                .map_err(|_| wrong())
        }
        _ => {
            let (parameters, size): (&EcdsaVerificationAlgorithm, usize) = match algorithm {
                "ecdsa-sha2-nistp256" => (&ECDSA_P256_SHA256_FIXED, 32),
                "ecdsa-sha2-nistp384" => (&ECDSA_P384_SHA384_FIXED, 48),
                _ => (&ECDSA_P521_SHA512_FIXED, 66),
            };
            fields.string()?;
            let point = fields.string()?;
            let mut numbers = Reader::new(value);
            let (r, s) = (numbers.integer()?, numbers.integer()?);
            if r.len() > size || s.len() > size {
                return Err(wrong());
            }
            let mut fixed = vec![0; 2 * size];
            fixed[size - r.len()..size].copy_from_slice(r);
            fixed[2 * size - s.len()..].copy_from_slice(s);
            UnparsedPublicKey::new(parameters, point)
                .verify(message, &fixed)
                .map_err(|_| wrong())
        }
    }
}
