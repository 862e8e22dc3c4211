//! Starts and stops child processes. A process stops when its handle is dropped. Errors contain the
//! end of the process's output.

mod spawner;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::wait::{TimedOut, eventually};

/// Number of log lines that errors and test output contain.
const SHOWN_LINES: usize = 40;

/// The reason why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The log file of a program cannot be created.
    #[error("cannot create the log of {name} at {path}")]
    MakeLog {
        /// Name of the program.
        name: String,
        /// Path of the log file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("cannot start {name} ({path})")]
    Start {
        /// Name of the program.
        name: String,
        /// Path of the program.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A signal cannot be sent to the program.
    #[error("cannot signal {name}")]
    Signal {
        /// Name of the program.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program has ended unexpectedly.
    #[error("{name} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// Name of the program.
        name: String,
        /// Exit status of the program.
        status: ExitStatus,
        /// Last lines of the program's log.
        log: String,
    },
    /// A condition was not met in time.
    #[error("{name} is not ready; the end of its log:\n{log}")]
    NotReady {
        /// Name of the program.
        name: String,
        /// Last lines of the program's log.
        log: String,
        /// Description of the condition, with the time limit and the error of the last attempt.
        source: TimedOut,
    },
}

/// The description of a program to start: path, arguments, environment and log file.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    path: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    log: PathBuf,
}

impl Program {
    /// Creates a description of the program at `path`. The program writes its output to `NAME.log`
    /// in the folder `logs`. The program inherits only `PATH` from the environment of this process.
    pub fn new(name: &str, path: impl Into<PathBuf>, logs: &Path) -> Self {
        Self {
            name: name.to_owned(),
            path: path.into(),
            arguments: Vec::new(),
            environment: std::env::var_os("PATH")
                .map(|value| ("PATH".into(), value))
                .into_iter()
                .collect(),
            log: logs.join(format!("{name}.log")),
        }
    }

    /// Adds one argument to the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments to the command line.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts the program as a child process.
    pub fn start(self) -> Result<Running, ProgramError> {
        let child = self.spawn()?;
        Ok(Running {
            program: self,
            child,
        })
    }

    fn spawn(&self) -> Result<Child, ProgramError> {
        let make_log = |source| ProgramError::MakeLog {
            name: self.name.clone(),
            path: self.log.clone(),
            source,
        };
        if let Some(folder) = self.log.parent() {
            fs::create_dir_all(folder).map_err(make_log)?;
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(make_log)?;
        let stderr = log.try_clone().map_err(make_log)?;
        // With setpriv the kernel kills the program when this process ends in any way. An
        // interrupted test runs no destructors.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.path)
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            // Ctrl-C must reach only this process, which then stops its programs gracefully.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(stderr);
        spawner::spawn(command).map_err(|source| ProgramError::Start {
            name: self.name.clone(),
            path: self.path.clone(),
            source,
        })
    }
}

/// A running program. Dropping the value kills the program.
///
/// If a test panics, the drop also prints the last lines of the program's log.
#[derive(Debug)]
pub struct Running {
    program: Program,
    child: Child,
}

impl Running {
    /// Returns the name of the program in errors and logs.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Returns the process ID of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the path of the program's log file.
    pub fn log_path(&self) -> &Path {
        &self.program.log
    }

    /// Returns the complete output of the program. Includes the output before a restart.
    pub fn log(&self) -> String {
        fs::read(&self.program.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Returns the last lines of the program's output.
    pub fn log_tail(&self) -> String {
        last_lines(&self.log(), SHOWN_LINES).to_owned()
    }

    /// Returns the exit status of the program. Returns `None` while the program runs.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns an error if the program has ended.
    pub fn check(&mut self) -> Result<(), ProgramError> {
        match self.exited() {
            None => Ok(()),
            Some(status) => Err(ProgramError::Ended {
                name: self.program.name.clone(),
                status,
                log: self.log_tail(),
            }),
        }
    }

    /// Pauses the program with `SIGSTOP`. Its connections stay open.
    ///
    /// On a busy machine, threads can continue for a short time after the signal. The method
    /// returns when all threads have stopped.
    pub fn pause(&self) -> Result<(), ProgramError> {
        self.signal(Signal::STOP)?;
        // EXITED ends the wait if the program ends instead of stopping. NOWAIT keeps the exit
        // status for later calls.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let it = WaitId::Pid(Pid::from_child(&self.child));
        rustix::process::waitid(it, stopped).map_err(|source| ProgramError::Signal {
            name: self.program.name.clone(),
            source: source.into(),
        })?;
        Ok(())
    }

    /// Resumes the program after a call of [`Running::pause`].
    pub fn resume(&self) -> Result<(), ProgramError> {
        self.signal(Signal::CONT)
    }

    /// Stops the program with `SIGTERM`. Kills the program if it is still running after the time
    /// `limit`.
    pub async fn terminate(&mut self, limit: Duration) -> Result<ExitStatus, ProgramError> {
        if self.exited().is_none() {
            self.signal(Signal::TERM)?;
        }
        let ended = eventually("its end", limit, async || {
            self.exited().ok_or("the program is still running")
        })
        .await;
        match ended {
            Ok(status) => Ok(status),
            Err(_) => self.kill(),
        }
    }

    /// Kills the program with `SIGKILL` and waits for its end.
    pub fn kill(&mut self) -> Result<ExitStatus, ProgramError> {
        let signalled = |source| ProgramError::Signal {
            name: self.program.name.clone(),
            source,
        };
        self.child.kill().map_err(signalled)?;
        self.child.wait().map_err(signalled)
    }

    /// Kills a running program, and starts the program again with the same arguments.
    pub fn restart(&mut self) -> Result<(), ProgramError> {
        self.kill()?;
        self.child = self.program.spawn()?;
        Ok(())
    }

    /// Kills a running program, and starts the program again with additional arguments.
    pub(crate) fn restart_with(&mut self, arguments: &[String]) -> Result<(), ProgramError> {
        self.program
            .arguments
            .extend(arguments.iter().map(Into::into));
        self.restart()
    }

    /// Waits until the log contains a line with `text`. Returns the line.
    pub async fn wait_for_log(
        &mut self,
        text: &str,
        limit: Duration,
    ) -> Result<String, ProgramError> {
        self.wait_until(&format!("{text:?} in its log"), limit, async |running| {
            let log = running.log();
            log.lines()
                .find(|line| line.contains(text))
                .map(str::to_owned)
                .ok_or("the log does not contain the line")
        })
        .await
    }

    /// Repeats `attempt` until an attempt succeeds. Returns an error if the program ends or the
    /// timeout has passed.
    ///
    /// `subject` describes the condition in error messages.
    pub async fn wait_until<T, E: std::fmt::Display>(
        &mut self,
        subject: &str,
        limit: Duration,
        mut attempt: impl AsyncFnMut(&Self) -> Result<T, E>,
    ) -> Result<T, ProgramError> {
        let outcome = eventually(subject, limit, async || match self.exited() {
            Some(_) => Ok(None),
            None => attempt(self).await.map(Some),
        })
        .await;
        match outcome {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.check().err().unwrap_or_else(|| ProgramError::Signal {
                name: self.program.name.clone(),
                source: io::Error::other("the program has ended, but its exit status is unknown"),
            })),
            Err(source) => Err(ProgramError::NotReady {
                name: self.program.name.clone(),
                log: self.log_tail(),
                source,
            }),
        }
    }

    fn signal(&self, signal: Signal) -> Result<(), ProgramError> {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).map_err(|source| {
            ProgramError::Signal {
                name: self.program.name.clone(),
                source: source.into(),
            }
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {}:\n{}", self.program.name, self.log_tail());
        }
        // The error is ignored: the program may have ended.
        let _ = self.kill();
    }
}

/// Returns the last `count` lines of `text`.
pub(crate) fn last_lines(text: &str, count: usize) -> &str {
    let start = text
        .trim_end()
        .rmatch_indices('\n')
        .nth(count.saturating_sub(1))
        .map_or(0, |(position, _)| position + 1);
    &text[start..]
}
