//! Runs the browser tests in `e2e/browser`: Playwright with Debian's Chromium.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;

use crate::drover::{DemoOptions, DemoServer, DroverError};
use crate::program::ProgramError;
use crate::tools::{BuildError, Tool};

/// Timeout for a run of all tests of a Playwright project.
const PROJECT_TIMEOUT: Duration = Duration::from_mins(10);
/// Timeout of the installation of the npm packages.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);
/// Number of simulated clusters. The first three clusters are small, large and failing.
const DEMO_CLUSTERS: u32 = 3;
/// The environment variables that the browser tests inherit from this process.
const INHERITED: [&str; 4] = ["PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR"];

/// The reason why the browser tests cannot run.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// A file cannot be read or written.
    #[error("cannot prepare {path}")]
    Prepare {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Node.js or npm is not installed on this machine.
    #[error("cannot start {program}: Node 20 or newer is needed, with npm")]
    Start {
        /// Name of the missing program, for example `node`.
        program: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program failed. This error does not contain its output, because the output is already
    /// printed.
    #[error("{subject} failed ({status}); the output is above")]
    Failed {
        /// The command with its arguments.
        subject: String,
        /// Exit status of the program.
        status: ExitStatus,
    },
    /// A program did not end before its timeout.
    #[error("{subject} did not end within {seconds} s", seconds = limit.as_secs())]
    Endless {
        /// The command with its arguments.
        subject: String,
        /// The timeout that the program exceeded.
        limit: Duration,
    },
    /// The demonstration did not start.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// kubectl is not available.
    #[error(transparent)]
    Kubectl(#[from] BuildError),
    /// The server of the demonstration did not stop.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// The folder of the browser tests, which contains their npm packages.
#[derive(Debug)]
pub struct Playwright {
    folder: PathBuf,
    results: PathBuf,
    limit: Duration,
}

impl Playwright {
    /// Installs the npm packages of the lock file, if necessary.
    ///
    /// The tests write screenshots of failures and measurements to the folder `results`.
    pub async fn prepare(results: &Path) -> Result<Self, BrowserError> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
        let playwright = Self {
            results: results.to_owned(),
            folder,
            limit: PROJECT_TIMEOUT,
        };
        fs::create_dir_all(results).map_err(prepare(results))?;
        playwright.install().await?;
        Ok(playwright)
    }

    /// Replaces the timeout for a run of all tests of a project.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the folder into which the tests write screenshots and measurements.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Checks the TypeScript types of the tests.
    pub async fn check_types(&self) -> Result<(), BrowserError> {
        let mut command = self.node("typescript/bin/tsc");
        command.arg("--noEmit");
        finish("tsc", "node", command, PROJECT_TIMEOUT).await
    }

    /// Runs the browser tests of a Playwright project against a new demonstration.
    pub async fn run_on_demonstration(&self, project: &str) -> Result<(), BrowserError> {
        let folder = tempfile::tempdir().map_err(prepare(&std::env::temp_dir()))?;
        let server = DemoServer::start(DemoOptions {
            folder: folder.path().to_owned(),
            port: None,
            clusters: DEMO_CLUSTERS,
        })
        .await?;
        let password = server.log_in().await?;
        server.wait_for_clusters(DEMO_CLUSTERS as usize).await?;
        let kubectl = Tool::Kubectl.locate().await?;
        let environment = server.browser_environment(&password, &kubectl);
        self.run(project, environment).await?;
        server.stop().await?;
        Ok(())
    }

    /// Runs the browser tests of a Playwright project. `environment` contains additional
    /// environment variables. `DROVER_BROWSER_ONLY` selects tests by a substring of their names.
    /// `DROVER_BROWSER_UPDATE` updates the snapshots of the tests.
    pub async fn run(
        &self,
        project: &str,
        environment: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Result<(), BrowserError> {
        let mut command = self.node("@playwright/test/cli.js");
        command.args(["test", "--project", project]);
        if let Some(only) = std::env::var_os("DROVER_BROWSER_ONLY") {
            command.arg("--grep").arg(only);
        }
        if std::env::var_os("DROVER_BROWSER_UPDATE").is_some() {
            command.arg("--update-snapshots=all");
        } else {
            // Without this flag Playwright would create a missing snapshot instead of failing.
            command.arg("--update-snapshots=none");
        }
        command
            .env("DROVER_TEST_RESULTS", &self.results)
            .envs(environment)
            .env("FORCE_COLOR", "0");
        let subject = format!("the browser tests of {project}");
        finish(&subject, "node", command, self.limit).await
    }

    async fn install(&self) -> Result<(), BrowserError> {
        let (expected, have) = (
            self.folder.join("package-lock.json"),
            self.folder.join("node_modules/.installed"),
        );
        let lock = fs::read(&expected).map_err(prepare(&expected))?;
        if fs::read(&have).is_ok_and(|have| have == lock) {
            return Ok(());
        }
        let mut command = self.command("npm");
        command
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            // The tests use Debian's browser.
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        finish("npm ci", "npm", command, INSTALL_TIMEOUT).await?;
        fs::write(&have, lock).map_err(prepare(&have))
    }

    fn node(&self, script: &str) -> Command {
        let mut command = self.command("node");
        command.arg(self.folder.join("node_modules").join(script));
        command
    }

    /// Runs a program in the folder of the browser tests, and prints the program's output.
    fn command(&self, program: &str) -> Command {
        // The kernel kills the program when this process ends, whose main thread starts it: an
        // interrupted test runs no destructors.
        let mut command = Command::new("setpriv");
        let inherited = INHERITED.map(|name| (name, std::env::var_os(name)));
        command
            .args(["--pdeathsig", "TERM", "--", program])
            .current_dir(&self.folder)
            .env_clear()
            .envs(
                inherited
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

async fn finish(
    subject: &str,
    program: &'static str,
    mut command: Command,
    limit: Duration,
) -> Result<(), BrowserError> {
    let mut child = command
        .spawn()
        .map_err(|source| BrowserError::Start { program, source })?;
    let ended = tokio::time::timeout(limit, child.wait()).await;
    let ended = ended.map_err(|_| BrowserError::Endless {
        subject: subject.to_owned(),
        limit,
    })?;
    let status = ended.map_err(|source| BrowserError::Start { program, source })?;
    if status.success() {
        return Ok(());
    }
    Err(BrowserError::Failed {
        subject: subject.to_owned(),
        status,
    })
}

fn prepare(path: &Path) -> impl FnOnce(io::Error) -> BrowserError {
    move |source| BrowserError::Prepare {
        path: path.to_owned(),
        source,
    }
}
