//! How many files a process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The system allows fewer open files than are needed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{needed} open files are needed and {allowed} are allowed: raise the hard limit (as root, \"ulimit -Hn {needed}\" in the shell that starts this), or take fewer clusters with --clusters"
)]
pub(crate) struct TooFewFiles {
    needed: u64,
    allowed: u64,
}

/// Raises the soft limit, and where this process may, the hard one, until `needed` files fit.
/// Programs that are started afterwards inherit it.
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
    let wanted = Rlimit {
        current: Some(needed),
        maximum,
    };
    setrlimit(Resource::Nofile, wanted).map_err(|_| TooFewFiles {
        needed,
        allowed: before.maximum.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_already_is_enough_and_what_no_system_allows_is_named() {
        assert!(allow_files(3).is_ok());
        let text = allow_files(u64::MAX - 1).unwrap_err().to_string();
        assert!(text.contains("ulimit -Hn"), "{text}");
    }
}
