//! The limit of open files of a process. Each connection needs one open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of open files is too low.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot open {needed} files: the limit is {allowed}; raise the hard limit (as root, \"ulimit \
     -Hn {needed}\" in the shell that starts the program), or use fewer clusters with the option \
     --clusters of the benchmark \"scale\""
)]
pub(crate) struct TooFewFiles {
    needed: u64,
    allowed: u64,
}

/// Raises the soft limit to `needed` open files. Raises the hard limit to the same value if this
/// process has the permission. Child processes inherit the limits.
pub(crate) fn allow_files(needed: u64) -> Result<(), TooFewFiles> {
    let before = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if enough(before.current) {
        return Ok(());
    }
    let maximum = if enough(before.maximum) {
        before.maximum
    } else {
        Some(needed)
    };
    let expected = Rlimit {
        current: Some(needed),
        maximum,
    };
    setrlimit(Resource::Nofile, expected).map_err(|_| TooFewFiles {
        needed,
        allowed: before.maximum.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_file_limit_is_raised_or_the_error_contains_the_required_command() {
        assert!(allow_files(3).is_ok());
        let text = allow_files(u64::MAX - 1).unwrap_err().to_string();
        assert!(text.contains("ulimit -Hn"), "{text}");
    }
}
