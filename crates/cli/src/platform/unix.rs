//! File permissions and terminal modes on Linux and macOS.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Creates a folder and the parent folders that do not exist, with mode 0700.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Sets the mode of a created file to 0600.
pub(crate) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Returns the mode of the file, if other users can access the file.
pub(crate) fn mode_for_others(file: &Metadata) -> Option<u32> {
    let mode = file.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

/// True, because a Unix process can close standard output and continue to run.
pub(crate) const CLOSES_OUTPUT: bool = true;

/// Closes standard output, so that the reader of a pipe receives the end of the output while this
/// program continues.
pub(crate) fn close_output() -> io::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&nowhere)?)
}

/// Prompts and reads a line without echo.
pub(crate) fn hidden<E>(
    prompt: impl FnOnce(),
    read: impl FnOnce() -> Result<String, E>,
    failed: impl FnOnce(io::Error) -> E,
) -> Result<String, E> {
    let quiet = NoEcho::start().map_err(failed)?;
    prompt();
    let line = read();
    drop(quiet);
    line
}

/// A guard that disables the echo of the terminal. Dropping the guard restores the previous mode of
/// the terminal.
struct NoEcho(Termios);

impl NoEcho {
    fn start() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // Discard input that the user typed before the prompt. The terminal echoed it, and it is
        // not the password.
        tcsetattr(stdin.as_fd(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        // Ignore errors, because the terminal may be closed.
        let _gone = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}

/// A guard that sends each key to the program without a change. Dropping the guard restores the
/// previous mode of the terminal.
pub(crate) struct RawMode(Termios);

impl RawMode {
    /// Starts the raw mode of the terminal at standard input.
    pub(crate) fn start() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin.as_fd(), OptionalActions::Drain, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // Ignore errors, because the terminal may be closed.
        let _gone = tcsetattr(io::stdin().as_fd(), OptionalActions::Drain, &self.0);
    }
}

/// Returns the columns and rows of the terminal at standard input.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(io::stdin().as_fd()).ok()?;
    Some((size.ws_col, size.ws_row))
}

/// Changes of the size of the terminal.
pub(crate) struct TerminalChanges(Signal);

impl TerminalChanges {
    /// Listens for changes.
    pub(crate) fn listen() -> io::Result<Self> {
        signal(SignalKind::window_change()).map(Self)
    }

    /// Waits for the next change.
    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// Waits for a signal that ends the program: SIGTERM, SIGHUP or SIGINT.
pub(crate) async fn termination() {
    let kinds = [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
    ];
    let signals = kinds.map(|kind| {
        Box::pin(async move {
            match signal(kind) {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                Err(_) => std::future::pending().await,
            }
        })
    });
    futures::future::select_all(signals).await;
}

/// Creates a link to a program. Replaces an existing link.
pub(crate) fn link(program: &Path, link: &Path) -> io::Result<()> {
    if link.is_symlink() {
        std::fs::remove_file(link)?;
    }
    std::os::unix::fs::symlink(program, link)
}
