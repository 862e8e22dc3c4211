//! The server's certificate authority and serving certificate, stored on the hub.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::secret::{Data, create_or_read, entry, secret};
use super::{HubError, call};
use drover_tls::ServingCertificate;

/// The name of the Secret with the certificate authority that agents and kubeconfigs trust.
pub const CA_SECRET: &str = "server-ca";
/// The name of the Secret with the listener's serving certificate.
pub const SERVING_SECRET: &str = "server-serving";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const DAY: Duration = Duration::from_hours(24);
const CA_VALIDITY: Duration = Duration::from_hours(24 * 3650);
const SERVING_VALIDITY: Duration = Duration::from_hours(24 * 90);
/// The remaining validity below which the server renews a serving certificate.
const RENEW_BEFORE: Duration = Duration::from_hours(24 * 30);
/// The maximum number of attempts to renew a certificate while a second server renews the same
/// certificate.
const MAX_ATTEMPTS: usize = 5;

/// The error of loading or issuing a certificate.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The server failed to create a key or to sign a certificate.
    #[error("cannot issue a certificate")]
    Make(#[from] rcgen::Error),
    /// The Secret has no valid certificate and key.
    #[error(
        "Secret {secret} on the hub has no valid certificate and key: restore the Secret from a \
         backup, or delete the Secret. After the deletion, the server creates a new certificate \
         authority, and all manifests and kubeconfigs must be replaced", secret = .0
    )]
    Damaged(&'static str),
}

/// The certificate authority of this hub.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Loads the authority from the hub, or creates it.
    pub async fn load(secrets: &Api<Secret>) -> Result<Self, AuthorityError> {
        let stored = create_or_read(secrets, CA_SECRET, new_authority).await?;
        Self::from_secret(&stored)
    }

    fn from_secret(stored: &Secret) -> Result<Self, AuthorityError> {
        let (pem, key) = pem_pair(stored).ok_or(AuthorityError::Damaged(CA_SECRET))?;
        let key = KeyPair::from_pem(key).map_err(|_| AuthorityError::Damaged(CA_SECRET))?;
        let issuer =
            Issuer::from_ca_cert_pem(pem, key).map_err(|_| AuthorityError::Damaged(CA_SECRET))?;
        Ok(Self {
            pem: pem.to_owned(),
            issuer,
        })
    }

    /// Returns the authority's certificate in PEM format.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns a serving certificate for these names and addresses. Renews the stored certificate
    /// if necessary.
    pub async fn serving(
        &self,
        secrets: &Api<Secret>,
        names: &BTreeSet<String>,
    ) -> Result<ServingCertificate, AuthorityError> {
        let params = PostParams::default();
        for _ in 0..MAX_ATTEMPTS {
            let stored = create_or_read(secrets, SERVING_SECRET, || self.issue(names)).await?;
            let Some(reason) = renewal(&stored, &self.pem, names, SystemTime::now()) else {
                return read_serving(&stored);
            };
            tracing::info!(reason, "renewing the serving certificate");
            let mut renewed = self.issue(names)?;
            renewed.metadata.resource_version = stored.metadata.resource_version;
            let replaced = call(
                "renew the serving certificate",
                secrets.replace(SERVING_SECRET, &params, &renewed),
            );
            match replaced.await {
                Ok(replaced) => return read_serving(&replaced),
                // Another server renewed or deleted the Secret first: read the Secret again.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(AuthorityError::Damaged(SERVING_SECRET))
    }

    fn issue(&self, names: &BTreeSet<String>) -> Result<Secret, AuthorityError> {
        let mut params = CertificateParams::new(names.iter().cloned().collect::<Vec<_>>())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "drover server");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, SERVING_VALIDITY);
        let key = KeyPair::generate()?;
        let leaf = params.signed_by(&key, &self.issuer)?;
        let chain = format!("{}{}", leaf.pem(), self.pem);
        Ok(pem_secret(SERVING_SECRET, &chain, &key))
    }
}

fn new_authority() -> Result<Secret, AuthorityError> {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "drover server authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, CA_VALIDITY);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(pem_secret(CA_SECRET, &certificate.pem(), &key))
}

fn set_validity(params: &mut CertificateParams, life: Duration) {
    let now = SystemTime::now();
    // One day in the past, for clients whose clock is behind.
    params.not_before = (now - DAY).into();
    params.not_after = (now + life).into();
}

fn pem_secret(name: &str, certificate: &str, key: &KeyPair) -> Secret {
    let data = Data::from([
        (CERTIFICATE.to_owned(), certificate.as_bytes().to_vec()),
        (KEY.to_owned(), key.serialize_pem().into_bytes()),
    ]);
    secret(name, "kubernetes.io/tls", data)
}

fn pem_pair(stored: &Secret) -> Option<(&str, &str)> {
    let text = |key| std::str::from_utf8(entry(stored, key)?).ok();
    Some((text(CERTIFICATE)?, text(KEY)?))
}

fn read_serving(stored: &Secret) -> Result<ServingCertificate, AuthorityError> {
    let (chain, key) = pem_pair(stored).ok_or(AuthorityError::Damaged(SERVING_SECRET))?;
    Ok(ServingCertificate {
        chain: chain.to_owned(),
        key: key.into(),
    })
}

/// Returns the reason to renew the stored serving certificate. Returns `None` if the certificate is
/// valid.
fn renewal(
    stored: &Secret,
    authority: &str,
    names: &BTreeSet<String>,
    now: SystemTime,
) -> Option<&'static str> {
    let Some((chain, key)) = pem_pair(stored) else {
        return Some("the certificate is damaged");
    };
    let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(chain.as_bytes()) else {
        return Some("the certificate is damaged");
    };
    let Ok((_, leaf)) = X509Certificate::from_der(&pem.contents) else {
        return Some("the certificate is damaged");
    };
    if KeyPair::from_pem(key).is_err() {
        return Some("the key is damaged");
    }
    if !chain.ends_with(authority) {
        return Some("the authority has changed");
    }
    let now = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let end = u64::try_from(leaf.validity().not_after.timestamp()).unwrap_or(0);
    if Duration::from_secs(end) < now + RENEW_BEFORE {
        return Some("the certificate expires soon");
    }
    if names.is_subset(&alternative_names(&leaf)) {
        None
    } else {
        Some("the server has a new name")
    }
}

fn alternative_names(leaf: &X509Certificate<'_>) -> BTreeSet<String> {
    let extension = leaf.subject_alternative_name().ok().flatten();
    let names = extension
        .iter()
        .flat_map(|extension| &extension.value.general_names);
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes).map(|ip| ip.to_string()),
            _ => None,
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn serving_certificate_is_renewed_before_expiry_and_for_new_names() {
        let authority = Authority::from_secret(&new_authority().unwrap()).unwrap();
        let other = Authority::from_secret(&new_authority().unwrap()).unwrap();
        let required = names(&["drover.example", "127.0.0.1", "::1"]);
        let stored = authority.issue(&required).unwrap();
        let now = SystemTime::now();
        let reason = |pem: &str, names: &BTreeSet<String>, at| renewal(&stored, pem, names, at);
        let ours = authority.pem();
        assert_eq!(reason(ours, &required, now), None);
        assert_eq!(reason(ours, &names(&["127.0.0.1"]), now), None);
        assert_eq!(reason(ours, &required, now + 59 * DAY), None);
        assert_eq!(
            reason(ours, &required, now + 61 * DAY),
            Some("the certificate expires soon")
        );
        let more = names(&["drover.example", "other.example"]);
        assert_eq!(reason(ours, &more, now), Some("the server has a new name"));
        assert_eq!(
            reason(other.pem(), &required, now),
            Some("the authority has changed")
        );
        let damaged = secret(SERVING_SECRET, "kubernetes.io/tls", Data::new());
        assert_eq!(
            renewal(&damaged, ours, &required, now),
            Some("the certificate is damaged")
        );
    }
}
