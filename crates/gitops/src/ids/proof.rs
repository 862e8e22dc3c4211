//! The proof that the author of a ClusterRegistration holds a registration token.

use std::fmt::Write as _;

use aws_lc_rs::hmac;

/// Returns the proof for a request with these fields: the HMAC-SHA256 with the registration token as the key, in
/// hexadecimal digits. A reader of the request cannot use the proof for another request, because an agent uses its
/// random text once.
#[must_use]
pub fn registration_proof(token: &[u8], client_id: &str, client_random: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token);
    // The length separates the two texts.
    let message = format!("{}:{client_id}{client_random}", client_id.len());
    let tag = hmac::sign(&key, message.as_bytes());
    let mut text = String::with_capacity(64);
    for byte in tag.as_ref() {
        // A write to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reports whether `proof` is the proof for a request with these fields.
#[must_use]
pub fn is_registration_proof(
    token: &[u8],
    client_id: &str,
    client_random: &str,
    proof: &str,
) -> bool {
    let expected = registration_proof(token, client_id, client_random);
    aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_bytes(), proof.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_is_valid_only_for_its_token_client_id_and_random_text() {
        let proof = registration_proof(b"token", "id", "random");
        assert_eq!(proof.len(), 64);
        assert!(is_registration_proof(b"token", "id", "random", &proof));
        for (token, id, random) in [
            ("other", "id", "random"),
            ("token", "other", "random"),
            ("token", "id", "other"),
            ("token", "idr", "andom"),
        ] {
            assert!(!is_registration_proof(token.as_bytes(), id, random, &proof));
        }
        assert!(!is_registration_proof(b"token", "id", "random", ""));
    }
}
