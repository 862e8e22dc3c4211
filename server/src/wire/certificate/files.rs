//! Reloads certificate files that an external program renews, such as cert-manager or an ACME
//! client.

use std::convert::Infallible;
use std::time::Duration;

use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use parking_lot::Mutex;
use rustls_pki_types::UnixTime;
use secrecy::ExposeSecret as _;

use crate::wire::TlsFiles;
use drover_tls::ServingCertificate;
use drover_tls::roots::Roots;
use drover_tls::{ActiveCertificate, TlsError, chain, from_files};

/// Interval between checks of the files. Certificates are usually renewed weeks before they expire.
const EVERY: Duration = Duration::from_mins(1);

/// The paths of the certificate files, and the loaded certificate.
pub(super) struct WatchedFiles {
    files: TlsFiles,
    shown: ServingCertificate,
    /// The CA certificates that agents have received since the server started. New certificates
    /// must chain to one of these CA certificates.
    roots: Option<Roots>,
    /// The error of the previous check. The controller does not log an unchanged error again.
    problem: Option<String>,
}

impl WatchedFiles {
    pub(super) fn new(files: TlsFiles, shown: ServingCertificate, roots: Option<Roots>) -> Self {
        Self {
            files,
            shown,
            roots,
            problem: None,
        }
    }

    /// Runs the controller that checks and reloads the files.
    pub(super) async fn run(self, shown: ActiveCertificate, runtime: &Runtime) {
        let reconciler = FilesOnDisk {
            files: Mutex::new(self),
            shown,
        };
        let options = Options::new("certificate");
        runtime.run_single(options, reconciler, []).await;
    }

    /// Loads changed files. Continues with the previous certificate if the new files are incomplete
    /// or agents reject the new certificate.
    fn look(&mut self, shown: &ActiveCertificate) {
        match self.replace(shown) {
            Ok(false) => self.problem = None,
            Ok(true) => {
                self.problem = None;
                tracing::info!("reloaded the certificate files");
            }
            Err(error) => {
                let message = error.to_string();
                if self.problem.as_ref() != Some(&message) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "failed to reload the certificate files; using the previously loaded \
                         certificate"
                    );
                }
                self.problem = Some(message);
            }
        }
    }

    /// Loads the files. Returns true if the files have changed.
    fn replace(&mut self, shown: &ActiveCertificate) -> Result<bool, TlsError> {
        let found = from_files(&self.files.certificate, &self.files.key)?;
        let same = found.chain == self.shown.chain
            && found.key.expose_secret() == self.shown.key.expose_secret();
        if same {
            return Ok(false);
        }
        if let Err(error) = self.vouched_for(&found) {
            // An old certificate that agents reject has no value.
            if self.vouched_for(&self.shown).is_ok() {
                return Err(error);
            }
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "loaded a certificate that agents reject, because the previously loaded \
                 certificate is invalid"
            );
        }
        shown.replace(&found)?;
        self.shown = found;
        Ok(true)
    }

    fn vouched_for(&self, found: &ServingCertificate) -> Result<(), TlsError> {
        let Some(roots) = &self.roots else {
            return Ok(());
        };
        let vouched = roots.verify_chain(&chain(found)?, UnixTime::now());
        vouched.map_err(|source| TlsError::OtherCa {
            certificate: self.files.certificate.clone(),
            authority: self.files.trusted().to_owned(),
            source: Box::new(source),
        })
    }
}

/// The reconciler that reloads changed certificate files.
struct FilesOnDisk {
    files: Mutex<WatchedFiles>,
    shown: ActiveCertificate,
}

impl Reconciler for FilesOnDisk {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        self.files.lock().look(&self.shown);
        Ok(Action::requeue(EVERY))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use drover_testkit::authority::{Authority, Certified};

    fn write(folder: &Path, authority: &Authority) -> Vec<u8> {
        let Certified {
            certificate: leaf,
            key,
        } = authority.certify("d.example");
        std::fs::write(folder.join("tls.crt"), leaf).unwrap();
        std::fs::write(folder.join("tls.key"), key).unwrap();
        let serving = from_files(&folder.join("tls.crt"), &folder.join("tls.key")).unwrap();
        chain(&serving).unwrap()[0].to_vec()
    }

    fn watched_files(folder: &Path, authority: &Authority) -> (WatchedFiles, ActiveCertificate) {
        let files = TlsFiles {
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
            authority: Some(folder.join("ca.crt")),
        };
        std::fs::write(folder.join("ca.crt"), authority.pem()).unwrap();
        let serving = from_files(&files.certificate, &files.key).unwrap();
        let shown = ActiveCertificate::new(&serving).unwrap();
        let roots = Roots::read(&folder.join("ca.crt")).unwrap();
        (WatchedFiles::new(files, serving, Some(roots)), shown)
    }

    #[test]
    fn renewed_certificate_files_are_loaded_and_damaged_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let first = write(folder.path(), &authority);
        let (mut watched_files, shown) = watched_files(folder.path(), &authority);
        let now = || shown.leaf().unwrap().to_vec();

        watched_files.look(&shown);
        assert_eq!(now(), first);
        // The chain is new, and its key is not written yet.
        let key = std::fs::read(folder.path().join("tls.key")).unwrap();
        let second = write(folder.path(), &authority);
        let new_key = std::fs::read(folder.path().join("tls.key")).unwrap();
        std::fs::write(folder.path().join("tls.key"), key).unwrap();
        watched_files.look(&shown);
        assert_eq!(now(), first);
        assert!(watched_files.problem.is_some());
        std::fs::write(folder.path().join("tls.key"), new_key).unwrap();
        watched_files.look(&shown);
        assert_eq!(now(), second);
        assert_eq!(watched_files.problem, None);
        std::fs::remove_file(folder.path().join("tls.crt")).unwrap();
        watched_files.look(&shown);
        assert_eq!(now(), second);
    }

    #[test]
    fn certificate_of_an_unknown_authority_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let (known, next) = (Authority::new(), Authority::new());
        let first = write(folder.path(), &known);
        let (mut watched_files, shown) = watched_files(folder.path(), &known);
        let now = || shown.leaf().unwrap().to_vec();

        // The CA file changes as well, but agents keep the CA certificates from the start.
        write(folder.path(), &next);
        std::fs::write(folder.path().join("ca.crt"), next.pem()).unwrap();
        watched_files.look(&shown);
        assert_eq!(now(), first);
        let problem = watched_files.problem.clone().unwrap();
        for part in ["tls.crt", "ca.crt", "restart", "import"] {
            assert!(problem.contains(part), "{part}: {problem}");
        }
        let again = write(folder.path(), &known);
        watched_files.look(&shown);
        assert_eq!((now(), watched_files.problem), (again, None));
    }

    #[test]
    fn expired_certificate_is_replaced_by_any_readable_certificate() {
        let folder = tempfile::tempdir().unwrap();
        // A certificate of another CA replaces an expired certificate in this test.
        write(folder.path(), &Authority::new());
        let (mut watched_files, shown) = watched_files(folder.path(), &Authority::new());
        let next = write(folder.path(), &Authority::new());
        watched_files.look(&shown);
        assert_eq!(shown.leaf().unwrap().to_vec(), next);
    }
}
