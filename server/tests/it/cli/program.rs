//! Runs the program `drover` with a separate home folder and environment.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::stub::{PASSWORD, Stub};

/// The timeout of one run of the program.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The program `drover` with a separate home folder.
pub(crate) struct Drover {
    pub(crate) home: tempfile::TempDir,
}

/// The exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn failed(self, code: i32, advice: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(advice), "no {advice:?} in {self:?}");
        self
    }
}

impl Drover {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join(".config/drover/config.yaml")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            // The certificate authorities of the machine must not affect a test.
            .env("SSL_CERT_FILE", "/dev/null")
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Ended {
        self.run_with(args, &[], "").await
    }

    pub(crate) async fn run_with(&self, args: &[&str], env: &[(&str, &str)], input: &str) -> Ended {
        let mut command = self.command(args);
        command
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Errors are ignored: a program can end without reading its input.
        let _unread = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
            .await
            .expect("drover ends")
            .unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) async fn log_in(&self, stub: &Stub) -> Ended {
        let args = [
            "login",
            &stub.url,
            "--username",
            "alice",
            "--password-stdin",
            "--ca-fingerprint",
            &stub.fingerprint,
        ];
        self.run_with(&args, &[], &format!("{PASSWORD}\n")).await
    }
}
