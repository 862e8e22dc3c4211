//! File permissions and terminal modes on Linux and macOS.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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
