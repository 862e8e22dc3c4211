//! File permissions and terminal modes on Windows. A new file inherits the access control list of
//! its folder. By default, only the user can access the folders in `%APPDATA%`.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder and the parent folders that do not exist.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

/// Does not change `options`, because a file on Windows inherits the access control list of its
/// folder.
pub(crate) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Returns `None`, because files on Windows have no mode.
pub(crate) fn mode_for_others(_file: &Metadata) -> Option<u32> {
    None
}

/// False, because the standard library cannot close standard output on Windows.
pub(crate) const CLOSES_OUTPUT: bool = false;

/// Has no effect, because [`CLOSES_OUTPUT`] is false on Windows.
#[expect(clippy::unnecessary_wraps, reason = "Unix has the same signature")]
pub(crate) fn close_output() -> io::Result<()> {
    Ok(())
}

/// Prompts and reads a line from the console without echo.
pub(crate) fn hidden<E>(
    prompt: impl FnOnce(),
    _read: impl FnOnce() -> Result<String, E>,
    failed: impl FnOnce(io::Error) -> E,
) -> Result<String, E> {
    prompt();
    rpassword::read_password().map_err(failed)
}

/// A guard of the raw mode of the terminal, which is not available on Windows.
pub(crate) enum RawMode {}

impl RawMode {
    /// Returns an error, because the raw mode is not available on Windows.
    pub(crate) fn start() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "-t is not available on Windows; use kubectl exec",
        ))
    }
}

/// Returns `None`, because terminals of remote commands are not available on Windows.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    None
}

/// Changes of the size of the terminal, which never occur on Windows.
pub(crate) struct TerminalChanges;

impl TerminalChanges {
    /// Listens for changes.
    #[expect(clippy::unnecessary_wraps, reason = "Unix has the same signature")]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits forever.
    pub(crate) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

/// Waits for Ctrl+C.
pub(crate) async fn termination() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Copies a program, because a link needs a permission that users do not have by default.
pub(crate) fn link(program: &Path, link: &Path) -> io::Result<()> {
    std::fs::copy(program, link).map(drop)
}
