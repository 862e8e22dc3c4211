//! The certificate of the webhooks of one cluster.

use std::time::Duration;

use drover_api::endpoint::WEBHOOK_HOST;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use secrecy::SecretString;

/// Validity of the certificate. The API servers read the certificate from a file on their nodes, so that a
/// renewal requires an administrator.
const VALIDITY: Duration = Duration::from_hours(24 * 3650);
/// Difference between clocks that a new certificate tolerates.
const BACKDATED: Duration = Duration::from_hours(24);

/// Creates a self-signed certificate. Returns the certificate and its key, in PEM.
pub(super) fn create() -> Result<(String, SecretString), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![WEBHOOK_HOST.to_owned()])?;
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "drover authorized endpoint");
    params.distinguished_name = name;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = std::time::SystemTime::now();
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + VALIDITY).into();
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), SecretString::from(key.serialize_pem())))
}
