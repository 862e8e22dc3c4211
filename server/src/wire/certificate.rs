//! The listener's certificate. The source is certificate files, or the server's own CA. Changed
//! files are reloaded, and the CA renews the certificate before it expires.

mod files;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use rustls_pki_types::UnixTime;
use tokio::time::Instant;
use x509_parser::pem::parse_x509_pem;

use self::files::WatchedFiles;
use super::{StartError, TlsFiles};
use drover_hub::Hub;
use drover_hub::authority::{Authority, AuthorityError};
use drover_hub::settings::Settings;
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use drover_tls::roots::Roots;
use drover_tls::{ActiveCertificate, TlsError, chain, from_files};

/// Interval between checks of the certificate's remaining validity.
const EVERY: Duration = Duration::from_hours(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));

/// The current certificate and its source.
pub(super) struct Certificate {
    shown: ActiveCertificate,
    trust: Option<String>,
    kept: CertificateSource,
}

/// The source of certificates: certificate files, or the server's own CA.
enum CertificateSource {
    OwnAuthority(Box<OwnAuthority>),
    Files(Box<WatchedFiles>),
    #[cfg(test)]
    Nowhere,
}

/// The inputs for the renewal of a certificate from the server's own CA.
struct OwnAuthority {
    hub: Hub,
    settings: Settings,
    address: SocketAddr,
    authority: Authority,
}

/// Reads the certificate files. If no files are configured, the server's own CA issues a
/// certificate for the server's names.
pub(super) async fn prepare(
    hub: &Hub,
    settings: &Settings,
    address: SocketAddr,
    files: Option<&TlsFiles>,
) -> Result<Certificate, StartError> {
    if let Some(files) = files {
        return Ok(of_files(files)?);
    }
    let authority = Authority::load(&hub.secrets()).await?;
    let names = settings.certificate_names(&address);
    let serving = authority.serving(&hub.secrets(), &names).await?;
    Ok(Certificate {
        shown: ActiveCertificate::new(&serving)?,
        trust: Some(authority.pem().to_owned()),
        kept: CertificateSource::OwnAuthority(Box::new(OwnAuthority {
            hub: hub.clone(),
            settings: settings.clone(),
            address,
            authority,
        })),
    })
}

/// Reads the certificate files. Returns an error for a certificate that agents reject.
fn of_files(files: &TlsFiles) -> Result<Certificate, TlsError> {
    let serving = from_files(&files.certificate, &files.key)?;
    let shown = ActiveCertificate::new(&serving)?;
    let roots = match &files.authority {
        Some(authority) => Some(Roots::read(authority)?),
        None => Roots::ending(&serving.chain),
    };
    if let Some(roots) = &roots {
        let vouched = roots.verify_chain(&chain(&serving)?, UnixTime::now());
        vouched.map_err(|source| TlsError::UnverifiedCertificate {
            certificate: files.certificate.clone(),
            authority: files.trusted().to_owned(),
            source: Box::new(source),
        })?;
    }
    Ok(Certificate {
        shown,
        trust: roots.as_ref().map(Roots::to_pem),
        kept: CertificateSource::Files(Box::new(WatchedFiles::new(files.clone(), serving, roots))),
    })
}

impl Certificate {
    /// Returns the certificate that the listener presents to new connections.
    pub(super) fn shown(&self) -> ActiveCertificate {
        self.shown.clone()
    }

    /// Reports whether the certificate comes from files.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.kept, CertificateSource::Files(_))
    }

    /// Returns the CA certificates for clients, in PEM. Returns `None` if a public CA issued the
    /// certificate.
    pub(super) fn trust(&self) -> Option<&str> {
        self.trust.as_deref()
    }

    /// Returns the CA fingerprint that users compare at their first login: `SHA256:AB:CD:…`.
    /// Returns `None` if [`Self::trust`] returns `None`.
    pub(super) fn authority_fingerprint(&self) -> Option<String> {
        let (_, pem) = parse_x509_pem(self.trust()?.as_bytes()).ok()?;
        let digest = digest(&SHA256, &pem.contents);
        let bytes = digest.as_ref().iter();
        Some(bytes.fold("SHA256".to_owned(), |text, byte| {
            format!("{text}:{byte:02X}")
        }))
    }

    /// Runs the controller of the certificate. The controller reloads changed files. With the
    /// server's own CA, the controller renews the certificate before the expiry and when the
    /// server's names change.
    pub(super) async fn run(self, runtime: Runtime) {
        let runtime = runtime.in_every_replica();
        match self.kept {
            CertificateSource::OwnAuthority(own) => {
                let changed = own.hub.stores().changed();
                let options = Options {
                    backoff: BACKOFF,
                    ..Options::new("certificate")
                };
                let renewal = Renewal {
                    own: *own,
                    shown: self.shown,
                    renewed: Mutex::default(),
                };
                runtime.run_single(options, renewal, [changed]).await;
            }
            CertificateSource::Files(files) => files.run(self.shown, &runtime).await,
            #[cfg(test)]
            CertificateSource::Nowhere => {}
        }
    }
}

/// Renews a certificate from the server's own CA.
struct Renewal {
    own: OwnAuthority,
    shown: ActiveCertificate,
    /// The names in the certificate, and the time of the most recent renewal.
    renewed: Mutex<Option<(BTreeSet<String>, Instant)>>,
}

impl Reconciler for Renewal {
    type Key = ();
    type Error = AuthorityError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, AuthorityError> {
        let names = self.own.names();
        let renewed = self.renewed.lock().clone();
        if let Some((before, at)) = renewed
            && before == names
            && at.elapsed() < EVERY
        {
            return Ok(Action::requeue(EVERY.saturating_sub(at.elapsed())));
        }
        self.own.renew_once(&self.shown, &names).await?;
        *self.renewed.lock() = Some((names, Instant::now()));
        Ok(Action::requeue(EVERY))
    }
}

impl OwnAuthority {
    fn names(&self) -> BTreeSet<String> {
        self.settings.certificate_names(&self.address)
    }

    async fn renew_once(
        &self,
        shown: &ActiveCertificate,
        names: &BTreeSet<String>,
    ) -> Result<(), AuthorityError> {
        let serving = self.authority.serving(&self.hub.secrets(), names).await?;
        shown.replace(&serving).map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "cannot use the renewed serving certificate"
            );
            AuthorityError::Damaged(drover_hub::authority::SERVING_SECRET)
        })
    }
}

#[cfg(test)]
impl Certificate {
    /// Creates a self-signed certificate for tests of the server without a hub.
    pub(super) fn self_signed() -> Self {
        let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a name of letters makes a certificate");
        let serving = drover_tls::ServingCertificate {
            chain: certificate.cert.pem(),
            key: certificate.signing_key.serialize_pem().into(),
        };
        Self {
            shown: ActiveCertificate::new(&serving)
                .expect("key and certificate were made for each other"),
            trust: Some(serving.chain),
            kept: CertificateSource::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use drover_testkit::authority::{Authority, Certified};

    fn files(folder: &Path, chain: &str, key: &str, authority: Option<&str>) -> TlsFiles {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            certificate: write("tls.crt", chain),
            key: write("tls.key", key),
            authority: authority.map(|text| write("ca.crt", text)),
        }
    }

    #[test]
    fn error_for_a_certificate_of_a_different_authority_contains_the_file_names() {
        let (ours, other) = (Authority::new(), Authority::new());
        let Certified {
            certificate: leaf,
            key,
        } = ours.certify("d.example");
        let folder = tempfile::tempdir().unwrap();
        let open = |chain: &str, authority: Option<&str>| {
            of_files(&files(folder.path(), chain, &key, authority))
        };
        let error = open(&leaf, Some(&other.pem())).map(drop).unwrap_err();
        let text = error.to_string();
        for part in ["tls.crt", "ca.crt", "--tls-ca"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let wrong_end = format!("{leaf}{}", other.pem());
        let error = open(&wrong_end, None).map(drop).unwrap_err();
        assert!(
            matches!(error, TlsError::UnverifiedCertificate { .. }),
            "{error:?}"
        );

        let both = format!("{}{}", other.pem(), ours.pem());
        for authority in [&ours.pem(), &both] {
            assert!(open(&leaf, Some(authority)).is_ok());
        }
        // Clients already trust a public CA.
        assert_eq!(open(&leaf, None).unwrap().trust(), None);
    }

    #[test]
    fn ca_fingerprint_is_computed_from_the_first_certificate() {
        let ours = Authority::new();
        let Certified {
            certificate: leaf,
            key,
        } = ours.certify("d.example");
        let folder = tempfile::tempdir().unwrap();
        let before = format!("a comment before the certificate\n{}", ours.pem());
        let files = files(folder.path(), &leaf, &key, Some(&before));
        let reported = of_files(&files).unwrap().authority_fingerprint().unwrap();
        let (_, pem) = parse_x509_pem(ours.pem().as_bytes()).unwrap();
        let expected = digest(&SHA256, &pem.contents);
        let bytes = expected.as_ref().iter().map(|byte| format!("{byte:02X}"));
        let expected: Vec<String> = bytes.collect();
        assert_eq!(reported, format!("SHA256:{}", expected.join(":")));
    }
}
