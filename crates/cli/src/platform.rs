//! File permissions and terminal modes for Unix and Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    CLOSES_OUTPUT, RawMode, TerminalChanges, close_output, create_private_folder, hidden, link,
    mode_for_others, private_file, terminal_size, termination,
};
#[cfg(windows)]
pub(crate) use windows::{
    CLOSES_OUTPUT, RawMode, TerminalChanges, close_output, create_private_folder, hidden, link,
    mode_for_others, private_file, terminal_size, termination,
};
