//! The server's own certificate authority and its serving certificate, kept on the hub.

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

/// Secret of the certificate authority that agents and kubeconfigs pin.
pub const CA_SECRET: &str = "server-ca";
/// Secret of the certificate that the listener shows.
pub const SERVING_SECRET: &str = "server-serving";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const DAY: Duration = Duration::from_hours(24);
const CA_LIFE: Duration = Duration::from_hours(24 * 3650);
const SERVING_LIFE: Duration = Duration::from_hours(24 * 90);
/// A serving certificate is renewed when less than this is left.
const RENEW_BEFORE: Duration = Duration::from_hours(24 * 30);
/// Tries when another server renews at the same time.
const TRIES: usize = 5;

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// A certificate could not be made.
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
    /// A Secret does not hold what it should.
    #[error(
        "Secret {0} on the hub holds no readable certificate and key: restore it from a backup, \
         or delete it to have a new one made (a new authority needs new manifests and kubeconfigs)"
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
    /// The authority of this hub, made if it is not there yet.
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

    /// Its certificate, PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A serving certificate for these names and addresses, renewed on the hub if need be.
    pub async fn serving(
        &self,
        secrets: &Api<Secret>,
        names: &BTreeSet<String>,
    ) -> Result<ServingCertificate, AuthorityError> {
        let params = PostParams::default();
        for _ in 0..TRIES {
            let stored = create_or_read(secrets, SERVING_SECRET, || self.issue(names)).await?;
            let Some(why) = renewal(&stored, &self.pem, names, SystemTime::now()) else {
                return read_serving(&stored);
            };
            tracing::info!(reason = why, "renewing the serving certificate");
            let mut renewed = self.issue(names)?;
            renewed.metadata.resource_version = stored.metadata.resource_version;
            let replaced = call(
                "renew the serving certificate",
                secrets.replace(SERVING_SECRET, &params, &renewed),
            );
            match replaced.await {
                Ok(replaced) => return read_serving(&replaced),
                // Another server was faster, or somebody deleted it: look again.
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
        set_validity(&mut params, SERVING_LIFE);
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
    set_validity(&mut params, CA_LIFE);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(pem_secret(CA_SECRET, &certificate.pem(), &key))
}

fn set_validity(params: &mut CertificateParams, life: Duration) {
    let now = SystemTime::now();
    // A day back, for clocks that are behind.
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

/// Why a stored serving certificate has to be made anew; `None` if it serves.
fn renewal(
    stored: &Secret,
    authority: &str,
    names: &BTreeSet<String>,
    now: SystemTime,
) -> Option<&'static str> {
    let Some((chain, key)) = pem_pair(stored) else {
        return Some("it is damaged");
    };
    let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(chain.as_bytes()) else {
        return Some("it is damaged");
    };
    let Ok((_, leaf)) = X509Certificate::from_der(&pem.contents) else {
        return Some("it is damaged");
    };
    if KeyPair::from_pem(key).is_err() {
        return Some("its key is damaged");
    }
    if !chain.ends_with(authority) {
        return Some("the authority has changed");
    }
    let now = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let end = u64::try_from(leaf.validity().not_after.timestamp()).unwrap_or(0);
    if Duration::from_secs(end) < now + RENEW_BEFORE {
        return Some("it expires soon");
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
    fn a_serving_certificate_is_renewed_in_time_and_for_new_names() {
        let authority = Authority::from_secret(&new_authority().unwrap()).unwrap();
        let other = Authority::from_secret(&new_authority().unwrap()).unwrap();
        let wanted = names(&["drover.example", "127.0.0.1", "::1"]);
        let stored = authority.issue(&wanted).unwrap();
        let now = SystemTime::now();
        let why = |pem: &str, names: &BTreeSet<String>, at| renewal(&stored, pem, names, at);
        let ours = authority.pem();
        assert_eq!(why(ours, &wanted, now), None);
        assert_eq!(why(ours, &names(&["127.0.0.1"]), now), None);
        assert_eq!(why(ours, &wanted, now + 59 * DAY), None);
        assert_eq!(why(ours, &wanted, now + 61 * DAY), Some("it expires soon"));
        let more = names(&["drover.example", "other.example"]);
        assert_eq!(why(ours, &more, now), Some("the server has a new name"));
        assert_eq!(
            why(other.pem(), &wanted, now),
            Some("the authority has changed")
        );
        let damaged = secret(SERVING_SECRET, "kubernetes.io/tls", Data::new());
        assert_eq!(renewal(&damaged, ours, &wanted, now), Some("it is damaged"));
    }
}
