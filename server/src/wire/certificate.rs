//! The certificate that the listener shows: from files, which are read again when they change, or
//! from the server's own authority and then renewed in time.

mod files;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use tokio_util::sync::CancellationToken;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use self::files::Followed;
use super::{StartError, TlsFiles};
use crate::backoff::Backoff;
use crate::hub::Hub;
use crate::hub::authority::{Authority, AuthorityError};
use crate::listen::tls::{Shown, certificates, from_files};
use crate::settings::Settings;

/// How often the certificate's age is looked at.
const EVERY: Duration = Duration::from_hours(1);

/// The shown certificate and how it is kept.
pub(super) struct Certificate {
    shown: Shown,
    trust: Option<String>,
    kept: Kept,
}

/// Where the next certificate comes from.
enum Kept {
    Own(Box<Own>),
    Files(Followed),
    #[cfg(test)]
    Nowhere,
}

/// What it takes to renew a certificate of our own authority.
struct Own {
    hub: Hub,
    settings: Settings,
    address: SocketAddr,
    authority: Authority,
}

/// Reads the files, or gets a certificate for the server's names from its own authority.
pub(super) async fn prepare(
    hub: &Hub,
    settings: &Settings,
    address: SocketAddr,
    files: Option<&TlsFiles>,
) -> Result<Certificate, StartError> {
    if let Some(files) = files {
        let serving = from_files(&files.certificate, &files.key)?;
        let trust = match &files.authority {
            Some(authority) => Some(certificates(authority)?),
            None => trust_in(&serving.chain),
        };
        return Ok(Certificate {
            shown: Shown::new(&serving)?,
            trust,
            kept: Kept::Files(Followed::new(files.clone(), serving)),
        });
    }
    let authority = Authority::load(&hub.secrets()).await?;
    let names = settings.certificate_names(&address);
    let serving = authority.serving(&hub.secrets(), &names).await?;
    Ok(Certificate {
        shown: Shown::new(&serving)?,
        trust: Some(authority.pem().to_owned()),
        kept: Kept::Own(Box::new(Own {
            hub: hub.clone(),
            settings: settings.clone(),
            address,
            authority,
        })),
    })
}

impl Certificate {
    /// What new connections are shown.
    pub(super) fn shown(&self) -> Shown {
        self.shown.clone()
    }

    /// What clients shall trust, PEM; `None` if the chain ends at an authority that they know.
    pub(super) fn trust(&self) -> Option<&str> {
        self.trust.as_deref()
    }

    /// What people compare at their first login, `SHA256:AB:CD:…`; `None` where [`Self::trust`] is.
    pub(super) fn authority_fingerprint(&self) -> Option<String> {
        let (_, pem) = parse_x509_pem(self.trust()?.as_bytes()).ok()?;
        let digest = digest(&SHA256, &pem.contents);
        let bytes = digest.as_ref().iter();
        Some(bytes.fold("SHA256".to_owned(), |text, byte| {
            format!("{text}:{byte:02X}")
        }))
    }

    /// Renews a certificate of our own in time, and when the server gets a new name; shows what is
    /// in the files otherwise. Until `stop`.
    pub(super) async fn renew_regularly(self, stop: CancellationToken) {
        match self.kept {
            Kept::Own(own) => stop.run_until_cancelled(own.renew(&self.shown)).await,
            Kept::Files(files) => stop.run_until_cancelled(files.follow(&self.shown)).await,
            #[cfg(test)]
            Kept::Nowhere => None,
        };
    }
}

impl Own {
    async fn renew(&self, shown: &Shown) {
        let mut changed = self.hub.stores().changed();
        let mut names = self.names();
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
        loop {
            let renamed =
                async { while self.names() == names && changed.changed().await.is_ok() {} };
            // Either a new name, or time to look at the certificate's age.
            if tokio::time::timeout(EVERY, renamed).await.is_ok() {
                names = self.names();
            }
            while let Err(error) = self.renew_once(shown, &names).await {
                warn(&error);
                tokio::time::sleep(backoff.next_delay()).await;
            }
            backoff.reset();
        }
    }

    fn names(&self) -> BTreeSet<String> {
        self.settings.certificate_names(&self.address)
    }

    async fn renew_once(
        &self,
        shown: &Shown,
        names: &BTreeSet<String>,
    ) -> Result<(), AuthorityError> {
        let serving = self.authority.serving(&self.hub.secrets(), names).await?;
        shown.replace(&serving).map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "unusable certificate"
            );
            AuthorityError::Damaged(crate::hub::authority::SERVING_SECRET)
        })
    }
}

fn warn(error: &AuthorityError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "the serving certificate was not renewed");
}

/// The authority at the end of a chain, or a self-signed leaf; nothing if the chain's authority
/// is left out, as with public ones.
fn trust_in(chain: &str) -> Option<String> {
    let pems: Vec<Pem> = Pem::iter_from_buffer(chain.as_bytes())
        .collect::<Result<_, _>>()
        .ok()?;
    let last = pems.last()?;
    let (_, certificate) = X509Certificate::from_der(&last.contents).ok()?;
    if !certificate.is_ca() && certificate.issuer() != certificate.subject() {
        return None;
    }
    let start = chain.rfind("-----BEGIN CERTIFICATE-----")?;
    Some(chain[start..].to_owned())
}

#[cfg(test)]
impl Certificate {
    /// One for tests that build the server without a hub.
    pub(super) fn self_signed() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a name of letters makes a certificate");
        let serving = crate::hub::authority::Serving {
            chain: made.cert.pem(),
            key: made.signing_key.serialize_pem().into(),
        };
        Self {
            shown: Shown::new(&serving).expect("key and certificate were made for each other"),
            trust: Some(serving.chain),
            kept: Kept::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn clients_are_told_to_trust_the_authority_that_the_chain_names() {
        let authority_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(params, authority_key);
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["d.example".to_owned()]).unwrap();
        let signed = leaf.signed_by(&key, &issuer).unwrap();
        let alone = leaf.self_signed(&key).unwrap();

        let whole = format!("{}{}", signed.pem(), authority.pem());
        assert_eq!(trust_in(&whole), Some(authority.pem()));
        assert_eq!(trust_in(&signed.pem()), None);
        assert_eq!(trust_in(&alone.pem()), Some(alone.pem()));
        assert_eq!(trust_in("nonsense"), None);
    }
}
