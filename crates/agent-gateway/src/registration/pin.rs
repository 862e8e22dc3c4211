//! The pin of a certificate's key, in the format of curl and RFC 7469 (HTTP public key pinning).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Returns the base64 of the SHA-256 hash of a DER certificate's `SubjectPublicKeyInfo`.
pub fn of_certificate(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let key = certificate.tbs_certificate.subject_pki.raw;
    Some(STANDARD.encode(digest(&SHA256, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_with_the_same_key_have_the_same_key_hash() {
        let key = rcgen::KeyPair::generate().unwrap();
        let pin = |name: &str, key: &rcgen::KeyPair| {
            let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            of_certificate(params.self_signed(key).unwrap().der()).unwrap()
        };
        assert_eq!(pin("a", &key), pin("b", &key));
        assert_ne!(
            pin("a", &key),
            pin("a", &rcgen::KeyPair::generate().unwrap())
        );
        let subject_key = rcgen::PublicKeyData::subject_public_key_info(&key);
        assert_eq!(
            pin("a", &key),
            STANDARD.encode(digest(&SHA256, &subject_key))
        );
        assert_eq!(of_certificate(b"junk"), None);
    }
}
