//! Describes the machine that runs the benchmark.

use std::fs;
use std::process::Command;
use std::time::Duration;

/// Returns the kernel, its TCP congestion control, the processors and the commit for the header of
/// a table. BBR also delays packets on local connections, and its timers use CPU time.
pub(crate) fn description() -> String {
    let kernel = kernel_setting("kernel/osrelease");
    let congestion_control = kernel_setting("net/ipv4/tcp_congestion_control");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Linux {kernel}, TCP {congestion_control}, {cores} cores, commit {}",
        commit()
    )
}

/// Returns the value of a kernel setting, or "unknown" if the kernel does not have the setting.
fn kernel_setting(name: &str) -> String {
    let value = fs::read_to_string(format!("/proc/sys/{name}"));
    value.map_or_else(|_| "unknown".to_owned(), |value| value.trim().to_owned())
}

/// Returns the CPU time that the host of a virtual machine gave to other virtual machines (`steal`
/// in proc_stat(5)), for all cores. Returns `None` if the kernel does not report the time.
pub(crate) fn stolen() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    // The unit is 1/100 s on all architectures of Linux.
    Some(Duration::from_millis(ticks * 10))
}

/// Returns the Git commit of the checkout, followed by `+` if files have uncommitted changes.
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
