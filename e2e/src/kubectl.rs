//! Runs kubectl and helm with a separate home folder.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::program::{Program, ProgramError, Running};

/// Default timeout of a command. The timeout is sufficient for a chart installation with `--wait`.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(3);

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command cannot be started.
    #[error("cannot run `{command}`")]
    Run {
        /// The command with its arguments.
        command: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The command did not end before the timeout and was killed.
    #[error("`{command}` did not end within {seconds} s", seconds = limit.as_secs())]
    Endless {
        /// The command with its arguments.
        command: String,
        /// The timeout that the command exceeded.
        limit: Duration,
    },
    /// The exit code of the command is not 0.
    #[error("`{command}` failed ({}): {}{}", output.status, output.stdout, output.stderr)]
    Failed {
        /// The command with its arguments.
        command: String,
        /// Output of the command.
        output: Output,
    },
}

/// The output and exit status of a command.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit status of the command.
    pub status: ExitStatus,
    /// Standard output of the command. Invalid UTF-8 is replaced.
    pub stdout: String,
    /// Standard error of the command. Invalid UTF-8 is replaced.
    pub stderr: String,
}

/// A command line tool, such as kubectl, with a separate kubeconfig and home folder.
#[derive(Clone, Debug)]
pub struct CommandLine {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limit: Duration,
}

impl CommandLine {
    /// Creates a command for `program`. The environment contains only `KUBECONFIG`, `HOME` and the
    /// `PATH` of this process.
    pub fn new(program: &Path, kubeconfig: &Path, home: &Path) -> Self {
        let mut environment = vec![
            ("KUBECONFIG".into(), kubeconfig.into()),
            ("HOME".into(), home.into()),
        ];
        environment.extend(std::env::var_os("PATH").map(|value| ("PATH".into(), value)));
        Self {
            program: program.to_owned(),
            environment,
            stdin: Vec::new(),
            limit: COMMAND_TIMEOUT,
        }
    }

    /// Sets the kubeconfig of the command, for example a kubeconfig for access through Drover.
    #[must_use]
    pub fn with_kubeconfig(self, kubeconfig: &Path) -> Self {
        self.env("KUBECONFIG", kubeconfig)
    }

    /// Sets the program of the command, for example a shell. Keeps the kubeconfig and the home
    /// folder.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// Sets an environment variable of the command.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.environment.retain(|(known, _)| *known != name);
        self.environment.push((name, value.into()));
        self
    }

    /// Sets the standard input of the command, for example a manifest for `apply -f -`.
    #[must_use]
    pub fn with_stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Sets the timeout of the command. The default is 3 minutes.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the command. Returns an error if the exit code is not 0.
    pub async fn run<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        let arguments = collect(arguments);
        let output = self.output(&arguments).await?;
        if output.status.success() {
            return Ok(output);
        }
        Err(CommandError::Failed {
            command: self.show(&arguments),
            output,
        })
    }

    /// Runs the command. Returns the output, even if the exit code is not 0.
    pub async fn output<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        let arguments = collect(arguments);
        let mut command = Command::new(&self.program);
        command.args(&arguments);
        self.finish(command, &self.show(&arguments)).await
    }

    /// Runs the command in a pseudo-terminal, for example for `exec -it`. The terminal receives the
    /// text from [`CommandLine::with_stdin`] as input. `stdout` of the result contains the output
    /// of the terminal.
    pub async fn in_terminal<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        let arguments = collect(arguments);
        let line = std::iter::once(self.program.display().to_string())
            .chain(arguments.iter().cloned())
            .map(|word| quote(&word))
            .collect::<Vec<_>>()
            .join(" ");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        self.finish(command, &self.show(&arguments)).await
    }

    /// Starts the command in the background, for example `logs -f` or `port-forward`. The output is
    /// written to `NAME.log` in the folder `logs`.
    pub fn start<A: AsRef<str>>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        logs: &Path,
    ) -> Result<Running, ProgramError> {
        self.environment
            .iter()
            .fold(
                Program::new(name, &self.program, logs),
                |program, (name, value)| program.env(name, value),
            )
            .args(collect(arguments))
            .start()
    }

    async fn finish(&self, mut command: Command, shown: &str) -> Result<Output, CommandError> {
        let failed = |source| CommandError::Run {
            command: shown.to_owned(),
            source,
        };
        let mut child = command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // Write errors are ignored: a command can end without reading its input.
                let _ = stdin.write_all(&self.stdin).await;
            }
        };
        let both = async { tokio::join!(child.wait_with_output(), feed).0 };
        let output = tokio::time::timeout(self.limit, both)
            .await
            .map_err(|_| CommandError::Endless {
                command: shown.to_owned(),
                limit: self.limit,
            })?
            .map_err(failed)?;
        Ok(Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn show(&self, arguments: &[String]) -> String {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        format!("{} {}", name.to_string_lossy(), arguments.join(" "))
    }
}

fn collect<A: AsRef<str>>(arguments: impl IntoIterator<Item = A>) -> Vec<String> {
    arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned())
        .collect()
}

/// Quotes one argument for the POSIX shell.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> CommandLine {
        CommandLine::new(Path::new("/bin/sh"), Path::new("config"), Path::new("/"))
    }

    #[tokio::test]
    async fn error_of_a_failed_command_contains_its_output() {
        let error = shell()
            .run(["-c", "echo no >&2; exit 4"])
            .await
            .unwrap_err();
        assert!(error.to_string().contains("no"), "{error}");
        assert!(error.to_string().contains("exit status: 4"), "{error}");
    }

    #[tokio::test]
    async fn command_is_killed_at_its_timeout() {
        let error = shell()
            .with_limit(Duration::from_millis(100))
            .run(["-c", "sleep 600"])
            .await
            .unwrap_err();
        assert!(matches!(error, CommandError::Endless { .. }), "{error}");
    }

    #[tokio::test]
    async fn command_in_a_terminal_receives_unchanged_arguments() {
        let output = shell()
            .in_terminal(["-c", "test -t 0 && printf '%s' \"$0\"", "it's one"])
            .await
            .unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout.trim(), "it's one");
    }

    #[tokio::test]
    async fn command_receives_its_standard_input() {
        let output = shell().with_stdin("a manifest").run(["-c", "cat"]).await;
        assert_eq!(output.unwrap().stdout, "a manifest");
    }
}
