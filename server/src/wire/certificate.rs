//! The certificate that the listener shows: from files, which are read again when they change, or
//! from the server's own authority and then renewed in time.

mod files;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use rustls_pki_types::UnixTime;
use tokio::time::Instant;
use x509_parser::pem::parse_x509_pem;

use self::files::Followed;
use super::{StartError, TlsFiles};
use drover_hub::Hub;
use drover_hub::authority::{Authority, AuthorityError};
use drover_hub::settings::Settings;
use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use drover_tls::roots::Roots;
use drover_tls::{Shown, TlsError, chain, from_files};

/// How often the certificate's age is looked at.
const EVERY: Duration = Duration::from_hours(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));

/// The shown certificate and how it is kept.
pub(super) struct Certificate {
    shown: Shown,
    trust: Option<String>,
    kept: Kept,
}

/// Where the next certificate comes from.
enum Kept {
    Own(Box<Own>),
    Files(Box<Followed>),
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
        return Ok(of_files(files)?);
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

/// A certificate that agents would refuse is none: the server would run, and every import fail.
fn of_files(files: &TlsFiles) -> Result<Certificate, TlsError> {
    let serving = from_files(&files.certificate, &files.key)?;
    let shown = Shown::new(&serving)?;
    let roots = match &files.authority {
        Some(authority) => Some(Roots::read(authority)?),
        None => Roots::ending(&serving.chain),
    };
    if let Some(roots) = &roots {
        let vouched = roots.vouch_for(&chain(&serving)?, UnixTime::now());
        vouched.map_err(|source| TlsError::NotVouchedFor {
            certificate: files.certificate.clone(),
            authority: files.trusted().to_owned(),
            source,
        })?;
    }
    Ok(Certificate {
        shown,
        trust: roots.as_ref().map(Roots::to_pem),
        kept: Kept::Files(Box::new(Followed::new(files.clone(), serving, roots))),
    })
}

impl Certificate {
    /// What new connections are shown.
    pub(super) fn shown(&self) -> Shown {
        self.shown.clone()
    }

    /// Whether the operator gave it, in files.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.kept, Kept::Files(_))
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

    /// Runs the controller of the certificate: it renews one of our own authority in time and when
    /// the server gets a new name, or shows files that changed.
    pub(super) async fn run(self, runtime: Runtime) {
        let runtime = runtime.in_every_replica();
        match self.kept {
            Kept::Own(own) => {
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
            Kept::Files(files) => files.run(self.shown, &runtime).await,
            #[cfg(test)]
            Kept::Nowhere => {}
        }
    }
}

/// Renews a certificate of our own authority.
struct Renewal {
    own: Own,
    shown: Shown,
    /// For which names, and when.
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

impl Own {
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
            AuthorityError::Damaged(drover_hub::authority::SERVING_SECRET)
        })
    }
}

#[cfg(test)]
impl Certificate {
    /// One for tests that build the server without a hub.
    pub(super) fn self_signed() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a name of letters makes a certificate");
        let serving = drover_tls::Serving {
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
    fn a_certificate_that_agents_would_refuse_is_named_with_their_authority() {
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
        assert!(matches!(error, TlsError::NotVouchedFor { .. }), "{error:?}");

        let both = format!("{}{}", other.pem(), ours.pem());
        for authority in [&ours.pem(), &both] {
            assert!(open(&leaf, Some(authority)).is_ok());
        }
        // The authority is a public one, which everybody knows.
        assert_eq!(open(&leaf, None).unwrap().trust(), None);
    }

    #[test]
    fn the_fingerprint_is_that_of_the_first_certificate_that_agents_trust() {
        let ours = Authority::new();
        let Certified {
            certificate: leaf,
            key,
        } = ours.certify("d.example");
        let folder = tempfile::tempdir().unwrap();
        let before = format!("what people wrote down\n{}", ours.pem());
        let files = files(folder.path(), &leaf, &key, Some(&before));
        let told = of_files(&files).unwrap().authority_fingerprint().unwrap();
        let (_, pem) = parse_x509_pem(ours.pem().as_bytes()).unwrap();
        let wanted = digest(&SHA256, &pem.contents);
        let bytes = wanted.as_ref().iter().map(|byte| format!("{byte:02X}"));
        let wanted: Vec<String> = bytes.collect();
        assert_eq!(told, format!("SHA256:{}", wanted.join(":")));
    }
}
