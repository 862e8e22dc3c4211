//! Where the figures were measured.

use std::fs;
use std::process::Command;

/// The kernel, the processors and the commit, for the head of a table.
pub(crate) fn description() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Linux {}, {cores} cores, commit {}",
        kernel.trim(),
        commit()
    )
}

/// The commit, with `+` when the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown (no git)".to_owned();
    };
    let changed = git(&["status", "--porcelain"]).is_none_or(|changes| !changes.is_empty());
    if changed {
        format!("{commit}+")
    } else {
        commit
    }
}
