//! Certificate files that somebody else renews: cert-manager in a Secret, an ACME client on a machine.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use crate::hub::authority::Serving;
use crate::listen::tls::{Shown, TlsError, from_files};
use crate::wire::TlsFiles;

/// How often the files are looked at; they are small, and renewed weeks before they end.
const EVERY: Duration = Duration::from_mins(1);

/// The files, and what was in them when they were last shown.
pub(super) struct Followed {
    files: TlsFiles,
    shown: Serving,
    /// What stood in the way at the last look: said once, not each minute.
    problem: Option<String>,
}

impl Followed {
    pub(super) fn new(files: TlsFiles, shown: Serving) -> Self {
        Self {
            files,
            shown,
            problem: None,
        }
    }

    /// Shows what is in the files.
    pub(super) async fn follow(mut self, shown: &Shown) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.look(shown);
        }
    }

    /// Files that cannot be shown leave the old certificate: they may be half written.
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
                        "the certificate's files have changed and cannot be shown"
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
        shown.replace(&found)?;
        self.shown = found;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn write(folder: &Path, name: &str) -> Vec<u8> {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().to_vec()
    }

    #[test]
    fn renewed_files_are_shown_and_damaged_ones_leave_the_old_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles {
            certificate: folder.path().join("tls.crt"),
            key: folder.path().join("tls.key"),
            authority: None,
        };
        let first = write(folder.path(), "first.example");
        let serving = from_files(&files.certificate, &files.key).unwrap();
        let shown = Shown::new(&serving).unwrap();
        let mut followed = Followed::new(files, serving);
        let now = || shown.leaf().unwrap().to_vec();

        followed.look(&shown);
        assert_eq!(now(), first);
        // The chain is new, and its key is not there yet.
        let key = std::fs::read(folder.path().join("tls.key")).unwrap();
        let second = write(folder.path(), "second.example");
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
}
