//! File permissions and terminal modes for Unix and Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    CLOSES_OUTPUT, close_output, create_private_folder, hidden, mode_for_others, private_file,
};
#[cfg(windows)]
pub(crate) use windows::{
    CLOSES_OUTPUT, close_output, create_private_folder, hidden, mode_for_others, private_file,
};
