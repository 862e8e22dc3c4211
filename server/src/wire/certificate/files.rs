//! Certificate files that somebody else renews: cert-manager in a Secret, an ACME client on a machine.

use std::convert::Infallible;
use std::time::Duration;

use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use parking_lot::Mutex;
use rustls_pki_types::UnixTime;
use secrecy::ExposeSecret as _;

use crate::wire::TlsFiles;
use drover_tls::Serving;
use drover_tls::roots::Roots;
use drover_tls::{Shown, TlsError, chain, from_files};

/// How often the files are looked at; they are small, and renewed weeks before they end.
const EVERY: Duration = Duration::from_mins(1);

/// The files, and what was in them when they were last shown.
pub(super) struct Followed {
    files: TlsFiles,
    shown: Serving,
    /// What agents know, and have known since the start: nothing else can vouch for new files.
    roots: Option<Roots>,
    /// What stood in the way at the last look: said once, not each minute.
    problem: Option<String>,
}

impl Followed {
    pub(super) fn new(files: TlsFiles, shown: Serving, roots: Option<Roots>) -> Self {
        Self {
            files,
            shown,
            roots,
            problem: None,
        }
    }

    /// Runs the controller that shows what is in the files.
    pub(super) async fn run(self, shown: Shown, runtime: &Runtime) {
        let reconciler = FilesOnDisk {
            files: Mutex::new(self),
            shown,
        };
        let options = Options::new("certificate");
        runtime.run_single(options, reconciler, []).await;
    }

    /// Files that cannot be shown leave the old certificate: they may be half written, or nothing
    /// that agents would believe.
    fn look(&mut self, shown: &Shown) {
        match self.replace(shown) {
            Ok(false) => self.problem = None,
            Ok(true) => {
                self.problem = None;
                tracing::info!("the certificate's files have changed and are shown");
            }
            Err(error) => {
                let said = error.to_string();
                if self.problem.as_ref() != Some(&said) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "the certificate's files have changed and are not shown; the old certificate is"
                    );
                }
                self.problem = Some(said);
            }
        }
    }

    /// Whether they had changed.
    fn replace(&mut self, shown: &Shown) -> Result<bool, TlsError> {
        let found = from_files(&self.files.certificate, &self.files.key)?;
        let same = found.chain == self.shown.chain
            && found.key.expose_secret() == self.shown.key.expose_secret();
        if same {
            return Ok(false);
        }
        if let Err(error) = self.vouched_for(&found) {
            // An old certificate that nobody believes any more protects nobody.
            if self.vouched_for(&self.shown).is_ok() {
                return Err(error);
            }
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the old certificate has ended: one is shown that agents refuse"
            );
        }
        shown.replace(&found)?;
        self.shown = found;
        Ok(true)
    }

    fn vouched_for(&self, found: &Serving) -> Result<(), TlsError> {
        let Some(roots) = &self.roots else {
            return Ok(());
        };
        let vouched = roots.vouch_for(&chain(found)?, UnixTime::now());
        vouched.map_err(|source| TlsError::OtherAuthority {
            certificate: self.files.certificate.clone(),
            authority: self.files.trusted().to_owned(),
            source,
        })
    }
}

/// Shows certificate files whenever they change.
struct FilesOnDisk {
    files: Mutex<Followed>,
    shown: Shown,
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

    fn followed(folder: &Path, authority: &Authority) -> (Followed, Shown) {
        let files = TlsFiles {
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
            authority: Some(folder.join("ca.crt")),
        };
        std::fs::write(folder.join("ca.crt"), authority.pem()).unwrap();
        let serving = from_files(&files.certificate, &files.key).unwrap();
        let shown = Shown::new(&serving).unwrap();
        let roots = Roots::read(&folder.join("ca.crt")).unwrap();
        (Followed::new(files, serving, Some(roots)), shown)
    }

    #[test]
    fn renewed_files_are_shown_and_damaged_ones_leave_the_old_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let first = write(folder.path(), &authority);
        let (mut followed, shown) = followed(folder.path(), &authority);
        let now = || shown.leaf().unwrap().to_vec();

        followed.look(&shown);
        assert_eq!(now(), first);
        // The chain is new, and its key is not there yet.
        let key = std::fs::read(folder.path().join("tls.key")).unwrap();
        let second = write(folder.path(), &authority);
        let new_key = std::fs::read(folder.path().join("tls.key")).unwrap();
        std::fs::write(folder.path().join("tls.key"), key).unwrap();
        followed.look(&shown);
        assert_eq!(now(), first);
        assert!(followed.problem.is_some());
        std::fs::write(folder.path().join("tls.key"), new_key).unwrap();
        followed.look(&shown);
        assert_eq!(now(), second);
        assert_eq!(followed.problem, None);
        std::fs::remove_file(folder.path().join("tls.crt")).unwrap();
        followed.look(&shown);
        assert_eq!(now(), second);
    }

    #[test]
    fn a_certificate_of_an_authority_that_agents_do_not_know_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (known, next) = (Authority::new(), Authority::new());
        let first = write(folder.path(), &known);
        let (mut followed, shown) = followed(folder.path(), &known);
        let now = || shown.leaf().unwrap().to_vec();

        // Its authority's file changes with it: agents go on knowing what it held at the start.
        write(folder.path(), &next);
        std::fs::write(folder.path().join("ca.crt"), next.pem()).unwrap();
        followed.look(&shown);
        assert_eq!(now(), first);
        let problem = followed.problem.clone().unwrap();
        for part in ["tls.crt", "ca.crt", "restart", "import"] {
            assert!(problem.contains(part), "{part}: {problem}");
        }
        let again = write(folder.path(), &known);
        followed.look(&shown);
        assert_eq!((now(), followed.problem), (again, None));
    }

    #[test]
    fn when_nobody_believes_the_old_certificate_any_more_the_new_one_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        // One that the authority has not signed stands for one that has ended.
        write(folder.path(), &Authority::new());
        let (mut followed, shown) = followed(folder.path(), &Authority::new());
        let next = write(folder.path(), &Authority::new());
        followed.look(&shown);
        assert_eq!(shown.leaf().unwrap().to_vec(), next);
    }
}
