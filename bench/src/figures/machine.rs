//! Where the figures were measured.

use std::fs;
use std::process::Command;
use std::time::Duration;

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

/// The time, of all cores together, for which a virtual machine had work and its host ran others
/// instead (`steal` in proc_stat(5)); `None` where the kernel does not tell.
pub(crate) fn stolen() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    // The unit is 1/100 s on every architecture that Linux has.
    Some(Duration::from_millis(ticks * 10))
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
