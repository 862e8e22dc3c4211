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
